// det plot.
#include <cmath>
#include <memory>

#include "command.h"
#include "curves.h"
#include "field_text.h"
#include "ids.h"
#include "metric_names.h"
#include "output_file.h"
#include "plot.h"
#include "svg.h"

namespace det::cli {

namespace {

constexpr const char *plot_command_footer =
    R"(Without METRIC the losses are drawn: every metric with 'loss' in its name, else the first one.
A METRIC may name its group: 'validation.loss'. Behind the first trial a number is one more, and so
is external:ID, with an external id: their curves share the axes. Values that are not finite leave
gaps.

Examples:
  det plot 1                        the losses of trial 1
  det plot 1 accuracy               the accuracy, in every group that has it
  det plot 1 training.loss validation.loss
  det plot 1 2 3 validation.loss    three trials in one plot
  det plot 1 loss --svg loss.svg    a picture for a report or a browser
  COLUMNS=120 det plot 1 --ascii    wider, and without braille characters)";

struct PlotOptions {
  int64_t trial = 0;
  std::vector<std::string> words;  // more trials, and metrics
  bool ascii = false;
  bool json = false;
  std::string svg;
};

// The trials, and the metrics of them that are wanted.
struct Subjects {
  std::vector<int64_t> trials;
  std::vector<std::string> metrics;
};

Subjects subjects_of(Client &client, const PlotOptions &options) {
  Subjects subjects{{options.trial}, {}};
  for (const std::string &word : options.words) {
    const bool number = word.find_first_not_of("0123456789") == word.npos;
    if (number || word.starts_with("external:"))
      subjects.trials.push_back(find_trial(client, word));
    else subjects.metrics.push_back(word);
  }
  return subjects;
}

void print_curve(const Curve &curve) {
  Json points = Json::array();
  for (const Point &point : curve.series.points) {
    const bool finite = std::isfinite(point.y);
    points.push_back(
        {static_cast<int64_t>(point.x), finite ? Json(point.y) : Json(short_number(point.y))});
  }
  print(json_line({{"trial_id", curve.trial},
                   {"group", curve.group},
                   {"metric", curve.metric},
                   {"points", std::move(points)}}));
}

// "trial 1: digits", "trials 1, 2".
std::string title_of(Client &client, const std::vector<int64_t> &trials) {
  const Json first = client.trial(trials.front());
  std::string title = (trials.size() == 1 ? "trial " : "trials ") + std::to_string(trials[0]);
  for (size_t i = 1; i < trials.size(); ++i) title += ", " + std::to_string(trials[i]);
  return trials.size() > 1 ? title : title + ": " + printable(text_of(field(first, "name")));
}

[[noreturn]] void fail_without_values(Client &client, const std::vector<int64_t> &trials) {
  if (trials.size() > 1)
    throw Failure(ExitCode::not_found, "none of these trials has a finite value to plot");
  const std::string metrics = metric_names(client.metric_names(trials.front())).listed();
  throw Failure(ExitCode::not_found,
                "trial " + std::to_string(trials.front()) + " has no finite value to plot" +
                    (metrics.empty() ? " yet" : "; its metrics are " + metrics));
}

void run_plot(const Session &session, const PlotOptions &options) {
  Client client = session.connect();
  const Subjects subjects = subjects_of(client, options);
  const std::string title = title_of(client, subjects.trials);
  std::vector<Series> lines;
  for (const int64_t trial : subjects.trials) {
    for (const Curve &curve : read_curves(client, trial, subjects.metrics)) {
      if (options.json) print_curve(curve);
      lines.push_back(with_gaps(curve.series));
      lines.back().name =
          (subjects.trials.size() > 1 ? "trial " + std::to_string(trial) + " " : "") +
          printable(curve.group + "." + curve.metric);
    }
  }
  if (options.json) return;
  Terminal terminal = session.terminal;
  terminal.utf8 = terminal.utf8 && !options.ascii;
  const std::string picture =
      options.svg.empty() ? render_plot(lines, terminal) : render_svg(lines, title);
  if (picture.empty()) fail_without_values(client, subjects.trials);
  if (options.svg.empty() || options.svg == "-") return print(picture);
  OutputFile file(options.svg);
  file.write(picture);
  file.finish();
  print("Wrote " + printable(options.svg) + ".\n");
}

}  // namespace

void add_plot_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App *command = app.add_subcommand("plot", "Draw metrics of trials over their steps.");
  command->footer(plot_command_footer);
  add_trial(command, session, "TRIAL", options->trial, "The trial.")->required();
  command->add_option("TRIAL|METRIC", options->words, "More trials, and what to draw.")
      ->type_name("");
  command->add_flag("--ascii", options->ascii, "Only ASCII characters.");
  command->add_option("--svg", options->svg, "Write a picture to this file ('-': to the output).")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "One JSON object per curve.")->excludes("--svg");
  command->callback([options, &session] { run_plot(session, *options); });
}

}  // namespace det::cli
