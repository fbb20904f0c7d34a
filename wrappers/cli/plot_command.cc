// det plot.
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "command.h"
#include "field_text.h"
#include "metric_names.h"
#include "plot.h"
#include "svg.h"

namespace det::cli {

namespace {

constexpr const char *plot_command_footer =
    R"(Without METRIC the losses are drawn: every metric with 'loss' in its name, else the first one.
A METRIC may name its group: 'validation.loss'. Values that are not finite leave gaps.

Examples:
  det plot 1                        the losses of trial 1
  det plot 1 accuracy               the accuracy, in every group that has it
  det plot 1 training.loss validation.loss
  det plot 1 loss --svg loss.svg    a picture for a report or a browser
  COLUMNS=120 det plot 1 --ascii    wider, and without braille characters)";

struct PlotOptions {
  int64_t trial = 0;
  std::vector<std::string> metrics;
  bool ascii = false;
  std::string svg;
};

struct Choice {
  std::string group, metric;
};

std::vector<Choice> those(const MetricNames &known,
                          const std::function<bool(const Choice &)> &wanted) {
  std::vector<Choice> out;
  for (const auto &[group, metrics] : known.groups) {
    for (const std::string &metric : metrics) {
      if (const Choice choice{group, metric}; wanted(choice)) out.push_back(choice);
    }
  }
  return out;
}

std::vector<Choice> choose_losses(const MetricNames &known) {
  const std::vector<Choice> losses = those(
      known, [](const Choice &choice) { return choice.metric.find("loss") != std::string::npos; });
  if (!losses.empty() || known.groups.empty()) return losses;
  const std::string first = known.of(std::nullopt).front();
  return those(known, [&](const Choice &choice) { return choice.metric == first; });
}

struct Choices {
  std::vector<Choice> found;           // in the order of the arguments
  std::optional<std::string> missing;  // an argument that names nothing
};

Choices choose(const MetricNames &known, const std::vector<std::string> &arguments) {
  if (arguments.empty()) return {choose_losses(known), std::nullopt};
  Choices choices;
  for (const std::string &argument : arguments) {
    const std::vector<Choice> found = those(known, [&](const Choice &choice) {
      return choice.metric == argument || choice.group + "." + choice.metric == argument;
    });
    if (found.empty()) choices.missing = argument;
    choices.found.insert(choices.found.end(), found.begin(), found.end());
  }
  return choices;
}

std::vector<Choice> choose(const MetricNames &known, const PlotOptions &options) {
  const Choices choices = choose(known, options.metrics);
  if (choices.missing) known.require(options.trial, std::nullopt, {*choices.missing});
  return choices.found;
}

// A line ends where the steps go back, as they may in groups of the user's own.
std::vector<Series> read_series(Client &client, int64_t trial, const std::vector<Choice> &choices) {
  std::vector<Series> series(choices.size());
  for (size_t i = 0; i < choices.size(); ++i) {
    series[i].name = printable(choices[i].group + "." + choices[i].metric);
  }
  client.each_metric(trial, std::nullopt, [&](const Json &report) {
    const Json &metrics = field(report, "metrics");
    for (size_t i = 0; i < choices.size(); ++i) {
      const auto found = metrics.find(choices[i].metric);
      if (found == metrics.end() || field(report, "group") != choices[i].group) continue;
      const double x = field(report, "steps_completed").get<double>(), y = double_of(*found);
      std::vector<Point> &points = series[i].points;
      if (!points.empty() && points.back().x > x) {
        points.push_back({x, std::numeric_limits<double>::quiet_NaN()});
      }
      points.push_back({x, y});
      if (!std::isfinite(y)) ++series[i].not_finite;
    }
    return true;
  });
  return series;
}

void write_picture(const std::string &path, const std::string &picture) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << picture;
  file.close();
  if (!file) {
    throw Failure(ExitCode::io, "writing '" + path + "': " + std::strerror(errno) +
                                    "; choose another file or make room");
  }
}

void run_plot(const Session &session, const PlotOptions &options) {
  Client client = session.connect();
  const Json trial = client.trial(options.trial);
  const MetricNames known = metric_names(client.metric_names(options.trial));
  const std::vector<Choice> choices = choose(known, options);
  const std::vector<Series> series = read_series(client, options.trial, choices);

  const std::string name = "trial " + std::to_string(options.trial);
  Terminal terminal = session.terminal;
  terminal.utf8 = terminal.utf8 && !options.ascii;
  const std::string picture =
      options.svg.empty()
          ? render_plot(series, terminal)
          : render_svg(series, name + ": " + printable(text_of(field(trial, "name"))));
  if (picture.empty()) {
    const std::string metrics = known.listed();
    throw Failure(ExitCode::not_found,
                  name + " has no finite value to plot" +
                      (metrics.empty() ? " yet" : "; its metrics are " + metrics));
  }
  if (options.svg.empty() || options.svg == "-") return print(picture);
  write_picture(options.svg, picture);
  print("Wrote " + printable(options.svg) + ".\n");
}

}  // namespace

void add_plot_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App *command = app.add_subcommand("plot", "Draw metrics of a trial over its steps.");
  command->footer(plot_command_footer);
  add_id(command, "TRIAL", options->trial, "The trial.")->required();
  command->add_option("METRIC", options->metrics, "What to draw.")->type_name("");
  command->add_flag("--ascii", options->ascii, "Only ASCII characters.");
  command->add_option("--svg", options->svg, "Write a picture to this file ('-': to the output).")
      ->type_name("FILE");
  command->callback([options, &session] { run_plot(session, *options); });
}

}  // namespace det::cli
