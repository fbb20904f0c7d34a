// det compare.
#include <algorithm>
#include <memory>

#include "compared_trial.h"
#include "field_text.h"
#include "ids.h"
#include "list.h"
#include "pager.h"
#include "side_by_side.h"

namespace det::cli {

namespace {

constexpr const char *compare_footer =
    R"(Shows the hyperparameters that differ, and of each metric the last value and the best: of
searcher.metric that is known, of the others the lowest and the highest are shown.

Examples:
  det compare 1 2 3                 three trials beside each other
  det compare -e 3                  the five best of experiment 3
  det compare -e 3 -n 10 --csv      the ten best, a row for each
  det plot 1 2 3 loss               their curves)";

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
  CLI::App *command = app.add_subcommand(
      "compare", "Show trials beside each other: where they differ, and what came of it.");
  command->footer(compare_footer);
  command->add_option("TRIAL", options->trials, "The trials.")->type_name("");
  add_experiment_option(command, options->experiment, "The best trials of this experiment.");
  command
      ->add_option_function<std::string>(
          "-n,--count", [options](const std::string &text) { options->count = parse_count(text); },
          "So many of them, if not five.")
      ->type_name("COUNT");
  CLI::Option *csv = command->add_flag("--csv", options->csv, "Comma-separated values.");
  command->add_flag("--json", options->json, "One JSON object.")->excludes(csv);
  command->callback([options, &session] { run_compare(session, *options); });
}

}  // namespace det::cli
