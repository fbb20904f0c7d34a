// det plot.
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "command.h"
#include "curve_panel.h"
#include "curve_values.h"
#include "field_text.h"
#include "ids.h"
#include "metric_names.h"
#include "plot.h"
#include "plot_output.h"
#include "plot_subjects.h"
#include "search_plot.h"

namespace det::cli {

namespace {

constexpr const char *plot_command_footer =
    R"(Without METRIC the losses are drawn: every metric with 'loss' in its name, else the first one;
of the trials of an experiment the validation metric that its searcher compares.
A METRIC may name its group, 'validation.loss', and of nested ones, as the profiler reports them, the
last part is enough; a group alone is all that is in it. Behind the first trial a number is one more,
and so is external:ID, with an external id: their curves share the axes. Values that are not finite
leave gaps, and so do those that a log axis does not have.

In a terminal that draws pictures (kitty, iTerm2, or with Sixel) the plot is one, if --picture is not
none; elsewhere it is text. A FILE is SVG, PDF or PNG by how its name ends.

Examples:
  det plot 1                        the losses of trial 1
  det plot 1 accuracy               the accuracy, in every group that has it
  det plot 1 2 3 validation.loss    three trials in one plot
  det plot -e 4 -n 10               the ten best trials of experiment 4, by the searcher's metric
  det plot -e 4 loss                the losses of all, with one colour for each trial
  det plot 1 loss -o loss.pdf       a picture for a paper
  det plot 1 loss --smooth 0.9 --log-y
  det plot 1 cpu gpu_util           what the profiler measured, over the time
  det plot 4 --parallel             the search of experiment 4: parallel coordinates,
  det plot 4 --slices               the metric over each hyperparameter,
  det plot 4 --importance           and which of them mattered, by a random forest
  COLUMNS=120 det plot 1 --ascii    wider, and without braille characters)";

struct PlotOptions {
  PlotArguments arguments;
  std::string along;
  CurveStyle style;
  bool json = false, csv = false;
  PlotOutput output;
  SearchPlot search;
};

[[noreturn]] void fail_without_values(Client &client, const std::vector<int64_t> &trials,
                                      const Panel &panel) {
  for (const Series &series : panel.series)
    if (series.not_positive > 0)
      throw Failure(ExitCode::not_found,
                    "no value is above 0, which a log axis wants; leave --log-x and --log-y out");
  if (trials.size() != 1)
    throw Failure(ExitCode::not_found, "none of these trials has a finite value to plot");
  const std::string metrics = metric_names(client.metric_names(trials.front())).listed(few_names);
  throw Failure(ExitCode::not_found,
                "trial " + std::to_string(trials.front()) + " has no finite value to plot" +
                    (metrics.empty() ? " yet" : "; its metrics are " + metrics));
}

void run_search_plot(const Session &session, const PlotOptions &options) {
  const bool two = options.arguments.experiment != 0 && !options.arguments.trial.empty();
  if (two || !options.arguments.words.empty())
    throw Failure(ExitCode::usage, "a plot of a search is of one experiment: give its id alone");
  const int64_t experiment = options.arguments.experiment != 0
                                 ? options.arguments.experiment
                                 : parse_id(options.arguments.trial, "EXPERIMENT");
  plot_search(session, experiment, options.search, options.style.log_y,
              options.csv    ? PlotValues::csv
              : options.json ? PlotValues::json
                             : PlotValues::drawn,
              options.output);
}

void run_plot(const Session &session, PlotOptions options) {
  if (options.arguments.trial.empty() && options.arguments.experiment == 0)
    throw Failure(ExitCode::usage, "give the trials to plot, or -e and an experiment");
  check_plot_output(options.output);
  if (options.search) return run_search_plot(session, options);
  Client client = session.connect();
  const PlotSubjects subjects = find_subjects(client, options.arguments);
  const std::vector<Curve> curves =
      read_subjects(client, subjects, options.arguments, options.along == "epochs");
  CurveStyle &style = options.style;
  style.along = along_named(options.along).value_or(usual_along(curves));
  if (style.log_x && style.along == Along::time)
    throw Failure(ExitCode::usage,
                  "a log axis has no times of day: choose --x relative, or leave --log-x out");
  require_places(curves, style.along);
  if (options.csv) return print_curves_csv(curves, style, session.terminal);
  if (options.json) return print_curves_json(curves, style);
  Panels panels{title_of(client, subjects, options.arguments), {panel_of(curves, style)}};
  if (!panels.panels[0].has_values())
    fail_without_values(client, subjects.trials, panels.panels[0]);
  show_plot(session, std::move(panels), options.output);
}

double parse_weight(const std::string &text) {
  double weight = -1;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, weight);
  if (error == std::errc() && stop == end && weight >= 0 && weight < 1) return weight;
  throw Failure(ExitCode::usage,
                "'" + text + "' is no weight to smooth with: give a number from 0, below 1");
}

}  // namespace

void add_plot_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App *command =
      app.add_subcommand("plot", "Draw metrics of trials, or what came of a search.");
  command->footer(plot_command_footer);
  command->add_option("TRIAL", options->arguments.trial, "The trial.")->type_name("");
  command->add_option("TRIAL|METRIC", options->arguments.words, "More trials, and what to draw.")
      ->type_name("");
  add_experiment_option(command, options->arguments.experiment, "The trials of this experiment.");
  command
      ->add_option_function<std::string>(
          "-n,--count",
          [options](const std::string &text) { options->arguments.count = parse_count(text); },
          "Only so many of them, the best.")
      ->type_name("COUNT");
  command->add_option("-x,--x", options->along, "Over steps, epochs, time or relative time.")
      ->type_name("ALONG")
      ->check([](const std::string &name) {
        return along_named(name)
                   ? std::string()
                   : "there is no axis '" + name + "': choose steps, epochs, time or relative";
      });
  command
      ->add_option_function<std::string>(
          "--smooth",
          [options](const std::string &text) { options->style.smoothing = parse_weight(text); },
          "Smooth with this weight, as TensorBoard does.")
      ->type_name("NUMBER");
  command->add_flag("--log-x", options->style.log_x, "A logarithmic x axis.");
  command->add_flag("--log-y", options->style.log_y, "A logarithmic y axis.");
  add_search_plot(command, options->search);
  add_plot_output(command, options->output);
  CLI::Option *csv = command->add_flag("--csv", options->csv, "Comma-separated values.");
  command->add_flag("--json", options->json, "One JSON object per curve.")->excludes(csv);
  command->callback([options, &session] { run_plot(session, *options); });
}

}  // namespace det::cli
