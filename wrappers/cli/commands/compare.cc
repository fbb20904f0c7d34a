// det compare.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/commands/list.h"
#include "wrappers/cli/library_client.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/pager.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

namespace {

// What became of each metric of a trial.
struct MetricSummary {
  std::string group, metric;
  Json last, lowest, highest;  // lowest, highest: null where no value is finite
  Json last_steps, lowest_steps, highest_steps;
  int64_t values = 0;

  void add(const Json &value, const Json &steps);
  std::string name() const { return group + "." + metric; }
};

void MetricSummary::add(const Json &value, const Json &steps) {
  ++values;
  last = value;
  last_steps = steps;
  const double number = double_of(value);
  if (!std::isfinite(number)) return;
  if (lowest.is_null() || number < double_of(lowest)) {
    lowest = value;
    lowest_steps = steps;
  }
  if (highest.is_null() || number > double_of(highest)) {
    highest = value;
    highest_steps = steps;
  }
}

// Of numbers only, in the order in which the metrics appear. Reads all reports.
std::vector<MetricSummary> summarise_metrics(Client &client, int64_t trial_id) {
  std::vector<MetricSummary> summaries;
  std::map<std::pair<std::string, std::string>, size_t> places;
  client.each_metric(trial_id, std::nullopt, [&](const Json &report) {
    const std::string group = text_of(field(report, "group"));
    for (const auto &[metric, value] : field(report, "metrics").items()) {
      if (!value.is_number() && std::isnan(double_of(value)) && value != "NaN") continue;
      const auto [place, is_new] = places.try_emplace({group, metric}, summaries.size());
      if (is_new) {
        summaries.emplace_back();
        summaries.back().group = group;
        summaries.back().metric = metric;
      }
      summaries[place->second].add(value, field(report, "steps_completed"));
    }
    return true;
  });
  return summaries;
}

// Trials beside each other: what `det compare` knows of each.
struct ComparedTrial {
  Json trial;
  std::vector<std::pair<std::string, Json>> hparams;  // by their dotted names
  std::vector<MetricSummary> metrics;
  Json searcher;  // as Client::best_trial()

  // Null, and without values, where the trial does not have it.
  const Json &hparam(const std::string &name) const;
  const MetricSummary &metric(const std::string &name) const;

  // The best value where it is known which is better: of the searcher's metric, in validation.
  std::optional<Json> best(const std::string &metric) const;
};

void add_name(std::vector<std::string> &names, const std::string &name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

const Json &ComparedTrial::hparam(const std::string &name) const {
  static const Json none;
  const auto found = std::find_if(hparams.begin(), hparams.end(),
                                  [&](const auto &it) { return it.first == name; });
  return found == hparams.end() ? none : found->second;
}

const MetricSummary &ComparedTrial::metric(const std::string &name) const {
  static const MetricSummary none;
  const auto found = std::find_if(metrics.begin(), metrics.end(),
                                  [&](const MetricSummary &it) { return it.name() == name; });
  return found == metrics.end() ? none : *found;
}

std::optional<Json> ComparedTrial::best(const std::string &name) const {
  const MetricSummary &summary = metric(name);
  if (summary.group != "validation" || field(searcher, "searcher_metric") != summary.metric)
    return std::nullopt;
  return field(searcher, "smaller_is_better") == false ? summary.highest : summary.lowest;
}

ComparedTrial read_compared_trial(Client &client, int64_t id) {
  Json trial = client.trial(id);
  auto hparams = flattened(field(trial, "hparams"));
  Json searcher = client.best_trial(field(trial, "experiment_id").get<int64_t>());
  return {std::move(trial), std::move(hparams), summarise_metrics(client, id), std::move(searcher)};
}

// Each name once; all, or those with different values.
std::vector<std::string> hparams_of(const std::vector<ComparedTrial> &trials, bool only_different) {
  std::vector<std::string> names;
  for (const ComparedTrial &trial : trials)
    for (const auto &[name, value] : trial.hparams) add_name(names, name);
  if (only_different)
    std::erase_if(names, [&](const std::string &name) {
      return std::all_of(trials.begin(), trials.end(), [&](const ComparedTrial &trial) {
        return trial.hparam(name) == trials.front().hparam(name);
      });
    });
  return names;
}

std::vector<std::string> metrics_of(const std::vector<ComparedTrial> &trials) {
  std::vector<std::string> names;
  for (const ComparedTrial &trial : trials)
    for (const MetricSummary &metric : trial.metrics) add_name(names, metric.name());
  return names;
}

// Things beside each other: a column for each, a line for each of their properties.
class SideBySide {
 public:
  // The titles of the columns are those of the first line.
  SideBySide(std::string label, std::vector<std::string> titles);

  void add(std::string label, std::vector<std::string> cells);
  void add_section(std::string title);

  // Texts from anywhere. Under each other as many columns as a terminal has room for.
  void print_on(const Terminal &terminal) const;

 private:
  struct Line {
    std::string label;
    std::vector<std::string> cells;  // none: a section begins
  };
  std::vector<Line> lines_;
};

constexpr size_t widest = 40;

std::string padded_right(const std::string &text, size_t width) {
  return text + std::string(width - std::min(width, display_width(text)), ' ');
}

std::string padded_left(const std::string &text, size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ') + text;
}

SideBySide::SideBySide(std::string label, std::vector<std::string> titles) {
  add(std::move(label), std::move(titles));
}

void SideBySide::add(std::string label, std::vector<std::string> cells) {
  lines_.push_back({std::move(label), std::move(cells)});
}

void SideBySide::add_section(std::string title) { lines_.push_back({std::move(title), {}}); }

void SideBySide::print_on(const Terminal &terminal) const {
  const size_t room =
      terminal.interactive ? static_cast<size_t>(std::max(terminal.width, 20)) : SIZE_MAX;
  const auto shown = [&](const std::string &text) {
    return shortened(printable(text), std::min(widest, room / 2 - 1), terminal);
  };
  size_t label_width = 0;
  std::vector<size_t> widths(lines_.front().cells.size());
  for (const Line &line : lines_) {
    if (!line.cells.empty()) label_width = std::max(label_width, display_width(shown(line.label)));
    for (size_t i = 0; i < line.cells.size(); ++i)
      widths[i] = std::max(widths[i], display_width(shown(line.cells[i])));
  }
  for (size_t begin = 0, end = 0; begin < widths.size(); begin = end) {
    size_t width = label_width + 2 + widths[end++];
    while (end < widths.size() && width + 2 + widths[end] <= room) width += 2 + widths[end++];
    if (begin > 0) print("\n\n");
    for (const Line &line : lines_) {
      if (line.cells.empty()) {
        print("\n" + line.label + "\n");
        continue;
      }
      std::string text = padded_right(shown(line.label), label_width);
      for (size_t i = begin; i < end; ++i)
        text += "  " + padded_left(shown(line.cells[i]), widths[i]);
      print(text + "\n");
    }
  }
}

constexpr const char *compare_footer =
    R"(Shows the hyperparameters that differ, and the last and the best value of each
metric. Only for searcher.metric is the better direction known. For other
metrics it shows the lowest and the highest value.

Examples:
  det compare 1 2 3
  det compare -e 3 -n 10 --csv)";

struct CompareOptions {
  std::vector<std::string> trials;
  int64_t experiment = 0;
  int64_t count = 5;
  bool csv = false;
  bool json = false;
};

std::vector<ComparedTrial> read_sides(Client &client, const CompareOptions &options) {
  std::vector<int64_t> ids;
  for (const std::string &text : options.trials) ids.push_back(find_trial(client, text));
  if (options.experiment != 0) {
    client.best_trial(options.experiment);  // an unknown one is an error
    const auto take = [&](const Json &trial) {
      ids.push_back(field(trial, "id").get<int64_t>());
      return true;
    };
    client.each_trial(options.experiment, take, {Order::best_first, options.count});
  }
  std::vector<ComparedTrial> sides;
  for (const int64_t id : ids) sides.push_back(read_compared_trial(client, id));
  return sides;
}

template <class Text>
std::vector<std::string> each_of(const std::vector<ComparedTrial> &sides, const Text &text) {
  std::vector<std::string> texts;
  for (const ComparedTrial &side : sides) texts.push_back(text(side));
  return texts;
}

void add_metric(SideBySide &page, const std::vector<ComparedTrial> &sides,
                const std::string &name) {
  const auto add = [&](const std::string &label, const Json MetricSummary::*value) {
    page.add(name + " " + label, each_of(sides, [&](const ComparedTrial &side) {
               return number_of(side.metric(name).*value);
             }));
  };
  add("last", &MetricSummary::last);
  const bool ranked = std::all_of(sides.begin(), sides.end(), [&](const ComparedTrial &side) {
    return side.metric(name).values == 0 || side.best(name);
  });
  if (!ranked) {
    add("lowest", &MetricSummary::lowest);
    return add("highest", &MetricSummary::highest);
  }
  page.add(name + " best", each_of(sides, [&](const ComparedTrial &side) {
             return number_of(side.best(name).value_or(nullptr));
           }));
}

void print_sides(const Session &session, const std::vector<ComparedTrial> &sides) {
  const auto line = [&](SideBySide &page, const char *label, const char *key) {
    page.add(label, each_of(sides, [&](const ComparedTrial &side) {
               return text_of(field(side.trial, key));
             }));
  };
  SideBySide page("Trial", each_of(sides, [](const ComparedTrial &side) {
                    return text_of(field(side.trial, "id"));
                  }));
  line(page, "Experiment", "experiment_id");
  line(page, "Name", "name");
  line(page, "State", "state");
  line(page, "Steps", "steps_completed");
  page.add("Took", each_of(sides, [](const ComparedTrial &side) {
             return duration_of(field(side.trial, "start_time"), field(side.trial, "end_time"));
           }));
  const std::vector<std::string> hparams = hparams_of(sides, true);
  page.add_section(hparams.empty() ? "The hyperparameters are the same."
                                   : "Hyperparameters that differ");
  for (const std::string &name : hparams)
    page.add(name, each_of(sides, [&](const ComparedTrial &side) {
               return number_of(side.hparam(name));
             }));
  const std::vector<std::string> metrics = metrics_of(sides);
  page.add_section(metrics.empty() ? "There are no metrics yet." : "Metrics");
  for (const std::string &name : metrics) add_metric(page, sides, name);
  page.print_on(session.terminal);
}

void print_sides_csv(const Terminal &terminal, const std::vector<ComparedTrial> &sides) {
  const std::vector<const char *> keys = {
      "id", "experiment_id", "name", "state", "steps_completed", "start_time", "end_time"};
  const std::vector<std::string> hparams = hparams_of(sides, false), metrics = metrics_of(sides);
  std::vector<std::string> titles(keys.begin(), keys.end());
  for (const std::string &name : hparams) titles.push_back("hparams." + name);
  for (const std::string &name : metrics)
    for (const char *which : {".last", ".lowest", ".highest"}) titles.push_back(name + which);
  print(csv_line(titles, terminal));
  const auto text = [](const Json &value) { return value.is_null() ? "" : text_of(value); };
  for (const ComparedTrial &side : sides) {
    std::vector<std::string> cells = csv_cells(side.trial, keys);
    for (const std::string &name : hparams) cells.push_back(text(side.hparam(name)));
    for (const std::string &name : metrics) {
      const MetricSummary &metric = side.metric(name);
      for (const Json *value : {&metric.last, &metric.lowest, &metric.highest})
        cells.push_back(text(*value));
    }
    print(csv_line(cells, terminal));
  }
}

Json as_json(const std::vector<ComparedTrial> &sides) {
  Json trials = Json::array();
  for (const ComparedTrial &side : sides) {
    Json trial;
    for (const char *key :
         {"id", "experiment_id", "name", "external_id", "state", "steps_completed", "best_metric",
          "best_steps", "start_time", "end_time", "hparams"})
      trial[key] = field(side.trial, key);
    trial["metrics"] = Json::object();
    for (const MetricSummary &metric : side.metrics)
      trial["metrics"][metric.group][metric.metric] = {
          {"last", metric.last},       {"last_steps", metric.last_steps},
          {"lowest", metric.lowest},   {"lowest_steps", metric.lowest_steps},
          {"highest", metric.highest}, {"highest_steps", metric.highest_steps},
          {"values", metric.values}};
    trials.push_back(std::move(trial));
  }
  return {{"differing", hparams_of(sides, true)}, {"trials", std::move(trials)}};
}

void run_compare(const Session &session, const CompareOptions &options) {
  if (options.trials.empty() == (options.experiment == 0))
    throw Failure(ExitCode::usage, "give the trials to compare, or -e and an experiment");
  Client client = session.connect();
  const std::vector<ComparedTrial> sides = read_sides(client, options);
  if (sides.empty())
    throw Failure(ExitCode::not_found,
                  "experiment " + std::to_string(options.experiment) + " has no trials yet");
  const Pager pager(session.terminal, session.pager);
  if (options.json) print(json_line(as_json(sides)));
  else if (options.csv) print_sides_csv(session.terminal, sides);
  else print_sides(session, sides);
}

}  // namespace

void add_compare_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App *command =
      app.add_subcommand("compare", "Compare trials: hyperparameters and metrics side by side.");
  command->footer(compare_footer);
  command->add_option("TRIAL", options->trials, "The trials.")->type_name("");
  add_experiment_option(command, options->experiment,
                        "Compare the best trials of this experiment.");
  command
      ->add_option_function<std::string>(
          "-n,--count", [options](const std::string &text) { options->count = parse_count(text); },
          "The number of trials. By default it is 5.")
      ->type_name("COUNT");
  CLI::Option *csv = command->add_flag("--csv", options->csv, "Print comma-separated values.");
  command->add_flag("--json", options->json, "Print one JSON object.")->excludes(csv);
  command->callback([options, &session] { run_compare(session, *options); });
}

}  // namespace det::cli
