// det plot.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text/printable.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/commands/metric_names.h"
#include "wrappers/cli/exit_code.h"
#include "wrappers/cli/library_client.h"
#include "wrappers/cli/plot/axis.h"
#include "wrappers/cli/plot/curve_panel.h"
#include "wrappers/cli/plot/curve_reader.h"
#include "wrappers/cli/plot/figure.h"
#include "wrappers/cli/plot/plot.h"
#include "wrappers/cli/plot/plot_output.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

namespace {

struct SearchedTrial {
  int64_t id = 0;
  double metric = 0;           // finite
  std::vector<double> values;  // of the dimensions; NaN for a hyperparameter that it does not have
};

// The trials with a finite value of the searcher's metric, the best first, and the hyperparameters
// that vary among them: on a log scale where the configuration draws them so.
struct Search {
  int64_t experiment = 0;
  std::string name;
  Dimension metric;
  bool smaller_is_better = true;
  std::vector<Dimension> dimensions;
  std::vector<SearchedTrial> trials;
};

struct SearchPlot {
  bool parallel = false, importance = false, slices = false;
  explicit operator bool() const { return parallel || importance || slices; }
};

enum class PlotValues { drawn, csv, json };

using Values = std::map<std::string, std::vector<std::pair<size_t, Json>>>;  // by trial

// What the configuration says of the hyperparameter with this dotted name.
const Json &declared(const Json &hyperparameters, const std::string &name) {
  const Json *at = &hyperparameters;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    at = &field(*at, name.substr(begin, end - begin).c_str());
    begin = end + 1;
  }
  return *at;
}

// Numbers in their order, then texts.
bool stands_before(const Json &a, const Json &b) {
  if (a.is_number() != b.is_number()) return a.is_number();
  return a.is_number() ? a.get<double>() < b.get<double>() : text_of(a) < text_of(b);
}

// Adds the hyperparameter to the search, unless all trials have the same.
void add_dimension(Search &search, const Json &hyperparameters, const std::string &name,
                   const std::vector<std::pair<size_t, Json>> &values) {
  const bool everywhere = values.size() == search.trials.size();
  if (everywhere && std::all_of(values.begin(), values.end(), [&](const auto &each) {
        return each.second == values.front().second;
      }))
    return;
  const Json &kind = field(declared(hyperparameters, name), "type");
  const bool numbers = kind != "categorical" &&
                       std::all_of(values.begin(), values.end(),
                                   [](const auto &each) { return each.second.is_number(); });
  Dimension dimension{printable(name)};
  std::vector<Json> categories;
  if (numbers) {
    const bool positive = std::all_of(values.begin(), values.end(), [](const auto &each) {
      return each.second.template get<double>() > 0;
    });
    if (kind == "log" && positive) dimension.scale = Scale::log;
    dimension.whole = std::all_of(values.begin(), values.end(),
                                  [](const auto &each) { return each.second.is_number_integer(); });
  } else {
    dimension.scale = Scale::categories;
    for (const auto &each : values)
      if (std::find(categories.begin(), categories.end(), each.second) == categories.end())
        categories.push_back(each.second);
    std::sort(categories.begin(), categories.end(), stands_before);
    for (const Json &category : categories)
      dimension.categories.push_back(printable(number_of(category)));
  }
  for (SearchedTrial &trial : search.trials)
    trial.values.push_back(std::numeric_limits<double>::quiet_NaN());
  for (const auto &each : values)
    search.trials[each.first].values.back() =
        numbers ? each.second.get<double>()
                : static_cast<double>(std::find(categories.begin(), categories.end(), each.second) -
                                      categories.begin());
  search.dimensions.push_back(std::move(dimension));
}

constexpr int64_t least_trials = 10, hinting_trials = 30;
constexpr double little_explained = 0.2;

std::string title_of(const Search &search) {
  return "experiment " + std::to_string(search.experiment) + ": " + search.name;
}

std::string text_with(const char *format, double value) {
  char text[128];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

Json json_value(const Dimension &dimension, double value) {
  if (std::isnan(value)) return nullptr;
  if (dimension.scale == Scale::categories) return dimension.text_of(value);
  const bool whole = std::fabs(value) < 1e15 && value == std::floor(value);
  return whole ? Json(static_cast<int64_t>(value)) : Json(value);
}

void print_trials_json(const Search &search) {
  Json hparams = Json::array(), trials = Json::array();
  for (const Dimension &dimension : search.dimensions)
    hparams.push_back({{"name", dimension.name},
                       {"scale", dimension.scale == Scale::log          ? "log"
                                 : dimension.scale == Scale::categories ? "categories"
                                                                        : "linear"}});
  for (const SearchedTrial &trial : search.trials) {
    Json values = Json::object();
    for (size_t i = 0; i < search.dimensions.size(); ++i)
      values[search.dimensions[i].name] = json_value(search.dimensions[i], trial.values[i]);
    trials.push_back({{"trial_id", trial.id},
                      {"metric", json_value(search.metric, trial.metric)},
                      {"hparams", values}});
  }
  print(json_line({{"experiment_id", search.experiment},
                   {"searcher_metric", search.metric.name},
                   {"smaller_is_better", search.smaller_is_better},
                   {"hparams", std::move(hparams)},
                   {"trials", std::move(trials)}}));
}

void print_trials_csv(const Search &search, const Terminal &terminal) {
  std::vector<std::string> cells = {"trial_id", search.metric.name};
  for (const Dimension &dimension : search.dimensions) cells.push_back("hparams." + dimension.name);
  print(csv_line(cells, terminal));
  for (const SearchedTrial &trial : search.trials) {
    cells = {std::to_string(trial.id), text_of(json_value(search.metric, trial.metric))};
    for (size_t i = 0; i < search.dimensions.size(); ++i) {
      const Json value = json_value(search.dimensions[i], trial.values[i]);
      cells.push_back(value.is_null() ? "" : text_of(value));
    }
    print(csv_line(cells, terminal));
  }
}

void print_importance_json(const Json &answer, const Bars &bars) {
  Json hparams = Json::array();
  for (const Bar &bar : bars.bars)
    hparams.push_back({{"name", bar.name}, {"importance", bar.value}, {"error", bar.error}});
  print(json_line({{"experiment_id", field(answer, "experiment_id")},
                   {"searcher_metric", field(answer, "searcher_metric")},
                   {"trials", field(answer, "trials")},
                   {"hparams", std::move(hparams)},
                   {"notes", bars.notes}}));
}

void print_importance_csv(const Bars &bars, const Terminal &terminal) {
  print(csv_line({"name", "importance", "error"}, terminal));
  for (const Bar &bar : bars.bars)
    print(csv_line({bar.name, text_of(Json(bar.value)), text_of(Json(bar.error))}, terminal));
}

void use_log_metric(Search &search) {
  for (const SearchedTrial &trial : search.trials)
    if (trial.metric <= 0)
      throw Failure(ExitCode::state, "trial " + std::to_string(trial.id) + " has the " +
                                         search.metric.name + " " + short_number(trial.metric) +
                                         ", which a log axis cannot show; leave out --log-y");
  search.metric.scale = Scale::log;
}

// Reads all trials. Throws Failure: of the state, where no trial has a value or nothing varies.
Search read_search(Client &client, int64_t experiment) {
  Search search;
  search.experiment = experiment;
  const Json best = client.best_trial(experiment), about = client.experiment(experiment);
  search.name = printable(text_of(field(about, "name")));
  search.metric = {printable(text_of(field(best, "searcher_metric")))};
  search.smaller_is_better = field(best, "smaller_is_better") != false;
  Values values;
  std::vector<std::string> names;
  const auto take = [&](const Json &trial) {
    const double metric = double_of(field(trial, "best_metric"));
    if (!std::isfinite(metric)) return true;
    for (const auto &[name, value] : flattened(field(trial, "hparams"))) {
      if (!values.contains(name)) names.push_back(name);
      values[name].emplace_back(search.trials.size(), value);
    }
    search.trials.push_back({field(trial, "id").get<int64_t>(), metric, {}});
    return true;
  };
  client.each_trial(experiment, take, {Order::best_first});
  const std::string of = "experiment " + std::to_string(experiment);
  if (search.trials.empty())
    throw Failure(ExitCode::state,
                  of + " has no trial with a finite value of its searcher's metric yet");
  for (const std::string &name : names)
    add_dimension(search, field(field(about, "config"), "hyperparameters"), name, values[name]);
  if (search.dimensions.empty())
    throw Failure(ExitCode::state, "all trials of " + of + " have the same hyperparameters");
  return search;
}

Parallel parallel_of(const Search &search) {
  Parallel parallel{title_of(search), search.dimensions, {}};
  parallel.dimensions.push_back(search.metric);
  for (auto trial = search.trials.rbegin(); trial != search.trials.rend(); ++trial) {
    parallel.trials.push_back(trial->values);
    parallel.trials.back().push_back(trial->metric);
  }
  return parallel;
}

Panels slices_of(const Search &search) {
  Panels panels{title_of(search), {}};
  for (size_t i = 0; i < search.dimensions.size(); ++i) {
    Panel panel;
    panel.dots = true;
    panel.x = search.dimensions[i];
    panel.y = search.metric;
    panel.series.emplace_back();
    for (const SearchedTrial &trial : search.trials)
      if (std::isfinite(trial.values[i]))
        panel.series[0].points.push_back({trial.values[i], trial.metric});
    panels.panels.push_back(std::move(panel));
  }
  return panels;
}

// How important each hyperparameter is, of an answer of Client::hparam_importance(). Throws Failure
// (state) for fewer than ten trials.
Bars importance_of(const Json &answer, const std::string &name) {
  const auto count = field(answer, "trials").get<int64_t>();
  const std::string of = "experiment " + text_of(field(answer, "experiment_id"));
  const std::string metric = printable(text_of(field(answer, "searcher_metric")));
  if (count < least_trials)
    throw Failure(ExitCode::state, of + " has too few trials for importances: " +
                                       std::to_string(count) + " have a value of " + metric +
                                       ", and " + std::to_string(least_trials) + " are needed");
  if (field(answer, "explained").is_null())
    throw Failure(ExitCode::state, "all trials of " + of + " have the same " + metric);
  const double explained = double_of(field(answer, "explained"));
  Bars bars{of + ": " + name, "importance for " + metric, {}, {}};
  for (const Json &hparam : field(answer, "hparams"))
    bars.bars.push_back({printable(text_of(field(hparam, "name"))),
                         double_of(field(hparam, "importance")),
                         double_of(field(hparam, "error"))});
  if (bars.bars.empty())
    throw Failure(ExitCode::state, "all trials of " + of + " have the same hyperparameters");
  bars.notes.push_back(
      text_with("The forest explains %.0f %% of the differences between ", 100 * explained) +
      std::to_string(count) + " trials that it did not see.");
  if (explained < little_explained)
    bars.notes.push_back("That is little: these importances may be chance.");
  if (count < hinting_trials)
    bars.notes.push_back("So few trials show only strong effects. More trials show more.");
  return bars;
}

// Declares --parallel, --importance and --slices, of which one can be given.
void add_search_plot(CLI::App *command, SearchPlot &plot) {
  CLI::Option *parallel =
      command->add_flag("--parallel", plot.parallel,
                        "Draw a line for each trial of an experiment through its hyperparameters.");
  CLI::Option *importance = command->add_flag("--importance", plot.importance,
                                              "Draw how important each hyperparameter is.");
  CLI::Option *slices =
      command->add_flag("--slices", plot.slices, "Draw the metric over each hyperparameter.");
  parallel->excludes(importance, slices);
  importance->excludes(slices);
}

// Throws Failure.
void plot_search(const Session &session, int64_t experiment, const SearchPlot &plot,
                 bool log_metric, PlotValues values, const PlotOutput &output) {
  Client client = session.connect();
  const bool csv = values == PlotValues::csv;
  if (plot.importance) {
    const Json answer = client.hparam_importance(experiment);
    const Json about = client.best_trial(experiment);
    const Bars bars = importance_of(answer, printable(text_of(field(about, "name"))));
    if (values == PlotValues::drawn) return show_plot(session, bars, output);
    return csv ? print_importance_csv(bars, session.terminal) : print_importance_json(answer, bars);
  }
  Search search = read_search(client, experiment);
  if (log_metric) use_log_metric(search);
  if (values != PlotValues::drawn)
    return csv ? print_trials_csv(search, session.terminal) : print_trials_json(search);
  if (plot.parallel) show_plot(session, parallel_of(search), output);
  else show_plot(session, slices_of(search), output);
}

// What `det plot` is asked to draw.
struct PlotArguments {
  std::string trial;               // or a metric, where there is an experiment
  std::vector<std::string> words;  // more trials, and metrics
  int64_t experiment = 0;          // 0: not given
  int64_t count = 0;               // of its best trials; 0: all
};

// The trials, and the metrics of them that are wanted.
struct PlotSubjects {
  std::vector<int64_t> trials;
  std::vector<std::string> metrics;
};

// What a search compares; none where the configuration does not name it.
std::vector<std::string> searcher_metric(Client &client, int64_t experiment) {
  const Json answer = client.experiment(experiment);
  const Json &metric = field(field(field(answer, "config"), "searcher"), "metric");
  if (!metric.is_string()) return {};
  return {"validation." + metric.get<std::string>()};
}

bool names_no_metric(const PlotArguments &arguments) {
  return arguments.trial.empty() && arguments.words.empty();
}

// Throws Failure, as those below do.
PlotSubjects find_subjects(Client &client, const PlotArguments &arguments) {
  PlotSubjects subjects;
  if (arguments.experiment != 0) {
    client.best_trial(arguments.experiment);  // an unknown one is an error
    const auto take = [&](const Json &trial) {
      subjects.trials.push_back(field(trial, "id").get<int64_t>());
      return true;
    };
    client.each_trial(arguments.experiment, take, {Order::best_first, arguments.count});
    if (!arguments.trial.empty()) subjects.metrics.push_back(arguments.trial);
  } else {
    subjects.trials.push_back(find_trial(client, arguments.trial));
  }
  for (const std::string &word : arguments.words) {
    const bool number = word.find_first_not_of("0123456789") == word.npos;
    if (arguments.experiment == 0 && (number || word.starts_with("external:")))
      subjects.trials.push_back(find_trial(client, word));
    else subjects.metrics.push_back(word);
  }
  if (subjects.trials.size() > 1 && names_no_metric(arguments))
    subjects.metrics = searcher_metric(client, arguments.experiment);
  return subjects;
}

// Of an experiment those trials that have the metrics.
std::vector<Curve> read_subjects(Client &client, const PlotSubjects &subjects,
                                 const PlotArguments &arguments, bool with_epochs) {
  const bool of_experiment = arguments.experiment != 0;
  std::vector<Curve> curves;
  std::optional<Failure> missing;
  for (const int64_t trial : subjects.trials) {
    try {
      for (Curve &curve : read_curves(client, trial, subjects.metrics, with_epochs))
        curves.push_back(std::move(curve));
    } catch (const Failure &failure) {
      if (!of_experiment || failure.code != ExitCode::not_found) throw;
      missing = failure;
    }
  }
  if (!curves.empty() || !missing) return curves;
  if (subjects.metrics.empty() || !names_no_metric(arguments)) throw *missing;
  return read_subjects(client, {subjects.trials, {}}, arguments, with_epochs);
}

// "trial 1: digits", "trials 1, 2", "experiment 3".
std::string title_of(Client &client, const PlotSubjects &subjects, const PlotArguments &arguments) {
  const std::vector<int64_t> &trials = subjects.trials;
  if (arguments.experiment != 0)
    return "experiment " + std::to_string(arguments.experiment) + ": " +
           printable(text_of(field(client.experiment(arguments.experiment), "name")));
  const Json first = client.trial(trials.front());
  std::string title = (trials.size() == 1 ? "trial " : "trials ") + std::to_string(trials[0]);
  for (size_t i = 1; i < trials.size(); ++i) title += ", " + std::to_string(trials[i]);
  return trials.size() > 1 ? title : title + ": " + printable(text_of(field(first, "name")));
}

constexpr double largest_exact = 9007199254740992.0;  // behind it a double misses whole numbers

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

void print_json(const Curve &curve, const CurveStyle &style) {
  const std::vector<Point> points = points_of(curve, style.along);
  const auto pairs = [&](const std::vector<Point> &each) {
    Json list = Json::array();
    for (const Point &point : each)
      list.push_back({style.along == Along::steps && std::fabs(point.x) < largest_exact
                          ? Json(static_cast<int64_t>(point.x))
                          : json_number(point.x),
                      json_number(point.y)});
    return list;
  };
  Json line = {{"trial_id", curve.trial},
               {"group", curve.group},
               {"metric", curve.metric},
               {"x", along_name(style.along)},
               {"points", pairs(points)}};
  if (style.smoothing > 0) line["smoothed"] = pairs(smoothed(points, style.smoothing));
  print(json_line(line));
}

// An object a line for each.
void print_curves_json(const std::vector<Curve> &curves, const CurveStyle &style) {
  for (const Curve &curve : curves) print_json(curve, style);
}

// A line for each value.
void print_curves_csv(const std::vector<Curve> &curves, const CurveStyle &style,
                      const Terminal &terminal) {
  std::vector<std::string> titles = {"trial_id", "group", "metric", along_name(style.along),
                                     "value"};
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

constexpr const char *plot_command_footer =
    R"(Without METRIC it draws every metric with 'loss' in its name, else the first
metric. For -e it draws the validation metric of the searcher. A METRIC may name
its group (validation.loss). The last part of a nested name is enough, and a
group alone draws all its metrics. After the first trial, a number or
external:ID is one more trial. Values that are not finite leave gaps, and so do
values that a log axis cannot show.

A terminal that draws pictures (kitty, iTerm2, Sixel) shows a picture. Other
terminals show text. The ending of FILE sets its format: svg, pdf or png.

Examples:
  det plot 1 2 3 validation.loss --smooth 0.9
  det plot -e 4 --parallel -o search.pdf)";

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
                    "no value is above 0, and a log axis needs one; leave out --log-x and --log-y");
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
    throw Failure(ExitCode::usage, "a plot of a search shows one experiment: give its ID only");
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
                  "a log axis cannot show times of day: choose --x relative, or leave out --log-x");
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
                "'" + text + "' is not a weight for --smooth: give a number from 0 to below 1");
}

}  // namespace

void add_plot_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App *command =
      app.add_subcommand("plot", "Draw metrics of trials, or the results of a search.");
  command->footer(plot_command_footer);
  command->add_option("TRIAL", options->arguments.trial, "The trial.")->type_name("");
  command
      ->add_option("TRIAL|METRIC", options->arguments.words,
                   "More trials, and the metrics to draw.")
      ->type_name("");
  add_experiment_option(command, options->arguments.experiment,
                        "Draw the trials of this experiment.");
  command
      ->add_option_function<std::string>(
          "-n,--count",
          [options](const std::string &text) { options->arguments.count = parse_count(text); },
          "Draw only the best trials, at most this many.")
      ->type_name("COUNT");
  command->add_option("-x,--x", options->along, "The x axis: steps, epochs, time or relative.")
      ->type_name("ALONG")
      ->check([](const std::string &name) {
        return along_named(name)
                   ? std::string()
                   : "'" + name + "' is not an axis: choose steps, epochs, time or relative";
      });
  command
      ->add_option_function<std::string>(
          "--smooth",
          [options](const std::string &text) { options->style.smoothing = parse_weight(text); },
          "Smooth with this weight, as TensorBoard does.")
      ->type_name("NUMBER");
  command->add_flag("--log-x", options->style.log_x, "Use a logarithmic x axis.");
  command->add_flag("--log-y", options->style.log_y, "Use a logarithmic y axis.");
  add_search_plot(command, options->search);
  add_plot_output(command, options->output);
  CLI::Option *csv = command->add_flag("--csv", options->csv, "Print comma-separated values.");
  command->add_flag("--json", options->json, "Print one JSON object per curve.")->excludes(csv);
  command->callback([options, &session] { run_plot(session, *options); });
}

}  // namespace det::cli
