// det plot.
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "command.h"
#include "curves.h"
#include "field_text.h"
#include "ids.h"
#include "metric_names.h"
#include "plot.h"
#include "plot_output.h"
#include "search_plot.h"

namespace det::cli {

namespace {

constexpr const char *plot_command_footer =
    R"(Without METRIC the losses are drawn: every metric with 'loss' in its name, else the first one.
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
  det plot -e 4 loss -n 10          the ten best trials of experiment 4
  det plot 1 loss -o loss.pdf       a picture for a paper
  det plot 1 loss --smooth 0.9 --log-y
  det plot 1 cpu gpu_util           what the profiler measured, over the time
  det plot 4 --parallel             the search of experiment 4: parallel coordinates,
  det plot 4 --slices               the metric over each hyperparameter,
  det plot 4 --importance           and which of them mattered, by a random forest
  COLUMNS=120 det plot 1 --ascii    wider, and without braille characters)";

struct PlotOptions {
  std::string trial;
  std::vector<std::string> words;  // more trials, and metrics
  int64_t experiment = 0;
  int64_t count = 0;
  std::string along;
  CurveStyle style;
  bool json = false, csv = false;
  PlotOutput output;
  SearchPlot search;
};

// The trials, and the metrics of them that are wanted.
struct Subjects {
  std::vector<int64_t> trials;
  std::vector<std::string> metrics;
};

Subjects subjects_of(Client &client, const PlotOptions &options) {
  Subjects subjects;
  if (options.experiment != 0) {
    client.best_trial(options.experiment);  // an unknown one is an error
    const auto take = [&](const Json &trial) {
      subjects.trials.push_back(field(trial, "id").get<int64_t>());
      return true;
    };
    client.each_trial(options.experiment, take, {Order::best_first, options.count});
    if (!options.trial.empty()) subjects.metrics.push_back(options.trial);
  } else {
    subjects.trials.push_back(find_trial(client, options.trial));
  }
  for (const std::string &word : options.words) {
    const bool number = word.find_first_not_of("0123456789") == word.npos;
    if (options.experiment == 0 && (number || word.starts_with("external:")))
      subjects.trials.push_back(find_trial(client, word));
    else subjects.metrics.push_back(word);
  }
  return subjects;
}

const std::map<std::string, Along> alongs = {{"steps", Along::steps},
                                             {"epochs", Along::epochs},
                                             {"time", Along::time},
                                             {"relative", Along::relative}};

std::string name_of(Along along) {
  for (const auto &[name, each] : alongs)
    if (each == along) return name;
  return "";
}

// As JSON has it: a text where it has no number for it.
Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(short_number(value));
}

std::vector<Point> points_of(const Curve &curve, Along along) {
  std::vector<Point> points;
  for (const Sample &sample : curve.samples)
    points.push_back({place_of(sample, along, curve), sample.value});
  return points;
}

void print_curve(const Curve &curve, const CurveStyle &style) {
  const std::vector<Point> points = points_of(curve, style.along);
  const auto pairs = [&](const std::vector<Point> &each) {
    Json list = Json::array();
    for (const Point &point : each)
      list.push_back({style.along == Along::steps && std::isfinite(point.x)
                          ? Json(static_cast<int64_t>(point.x))
                          : json_number(point.x),
                      json_number(point.y)});
    return list;
  };
  Json line = {{"trial_id", curve.trial},
               {"group", curve.group},
               {"metric", curve.metric},
               {"x", name_of(style.along)},
               {"points", pairs(points)}};
  if (style.smoothing > 0) line["smoothed"] = pairs(smoothed(points, style.smoothing));
  print(json_line(line));
}

void print_csv(const std::vector<Curve> &curves, const CurveStyle &style,
               const Terminal &terminal) {
  std::vector<std::string> titles = {"trial_id", "group", "metric", name_of(style.along), "value"};
  if (style.smoothing > 0) titles.push_back("smoothed");
  print(csv_line(titles, terminal));
  for (const Curve &curve : curves) {
    const std::vector<Point> points = points_of(curve, style.along),
                             smooth = smoothed(points, style.smoothing);
    for (size_t i = 0; i < points.size(); ++i) {
      std::vector<std::string> cells = {std::to_string(curve.trial), curve.group, curve.metric};
      for (const double value : {points[i].x, points[i].y, smooth[i].y})
        cells.push_back(text_of(json_number(value)));
      if (style.smoothing == 0) cells.pop_back();
      print(csv_line(cells, terminal));
    }
  }
}

// "trial 1: digits", "trials 1, 2", "experiment 3".
std::string title_of(Client &client, const PlotOptions &options,
                     const std::vector<int64_t> &trials) {
  if (options.experiment != 0)
    return "experiment " + std::to_string(options.experiment) + ": " +
           printable(text_of(field(client.experiment(options.experiment), "name")));
  const Json first = client.trial(trials.front());
  std::string title = (trials.size() == 1 ? "trial " : "trials ") + std::to_string(trials[0]);
  for (size_t i = 1; i < trials.size(); ++i) title += ", " + std::to_string(trials[i]);
  return trials.size() > 1 ? title : title + ": " + printable(text_of(field(first, "name")));
}

[[noreturn]] void fail_without_values(Client &client, const std::vector<int64_t> &trials,
                                      const Panel &panel) {
  for (const Series &series : panel.series)
    if (series.not_positive > 0)
      throw Failure(ExitCode::not_found,
                    "no value is above 0, which a log axis wants; leave --log-x and --log-y out");
  if (trials.size() != 1)
    throw Failure(ExitCode::not_found, "none of these trials has a finite value to plot");
  const std::string metrics = metric_names(client.metric_names(trials.front())).listed();
  throw Failure(ExitCode::not_found,
                "trial " + std::to_string(trials.front()) + " has no finite value to plot" +
                    (metrics.empty() ? " yet" : "; its metrics are " + metrics));
}

// Of an experiment those trials that have them.
std::vector<Curve> read_all_curves(Client &client, const Subjects &subjects,
                                   const PlotOptions &options) {
  const bool of_experiment = options.experiment != 0;
  std::vector<Curve> curves;
  std::optional<Failure> missing;
  for (const int64_t trial : subjects.trials) {
    try {
      for (Curve &curve : read_curves(client, trial, subjects.metrics, options.along == "epochs"))
        curves.push_back(std::move(curve));
    } catch (const Failure &failure) {
      if (!of_experiment || failure.code != ExitCode::not_found) throw;
      missing = failure;
    }
  }
  if (curves.empty() && missing) throw *missing;
  return curves;
}

void run_search_plot(const Session &session, const PlotOptions &options) {
  const bool two = options.experiment != 0 && !options.trial.empty();
  if (two || !options.words.empty())
    throw Failure(ExitCode::usage, "a plot of a search is of one experiment: give its id alone");
  const int64_t experiment =
      options.experiment != 0 ? options.experiment : parse_id(options.trial, "EXPERIMENT");
  plot_search(session, experiment, options.search, options.style.log_y,
              options.csv    ? PlotValues::csv
              : options.json ? PlotValues::json
                             : PlotValues::drawn,
              options.output);
}

void run_plot(const Session &session, PlotOptions options) {
  if (options.trial.empty() && options.experiment == 0)
    throw Failure(ExitCode::usage, "give the trials to plot, or -e and an experiment");
  check_plot_output(options.output);
  if (options.search) return run_search_plot(session, options);
  Client client = session.connect();
  const Subjects subjects = subjects_of(client, options);
  const std::vector<Curve> curves = read_all_curves(client, subjects, options);
  options.style.along = options.along.empty() ? usual_along(curves) : alongs.at(options.along);
  if (options.csv) return print_csv(curves, options.style, session.terminal);
  if (options.json) {
    for (const Curve &curve : curves) print_curve(curve, options.style);
    return;
  }
  Panels panels{title_of(client, options, subjects.trials), {panel_of(curves, options.style)}};
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
  command->add_option("TRIAL", options->trial, "The trial.")->type_name("");
  command->add_option("TRIAL|METRIC", options->words, "More trials, and what to draw.")
      ->type_name("");
  add_experiment_option(command, options->experiment, "The trials of this experiment.");
  command
      ->add_option_function<std::string>(
          "-n,--count", [options](const std::string &text) { options->count = parse_count(text); },
          "Only so many of them, the best.")
      ->type_name("COUNT");
  command->add_option("-x,--x", options->along, "Over steps, epochs, time or relative time.")
      ->type_name("ALONG")
      ->check([](const std::string &name) {
        return alongs.contains(name)
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
