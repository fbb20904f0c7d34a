// Which hyperparameters of an experiment mattered.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/client/client.h"
#include "core/client/importance.h"
#include "core/engine/runs/searcher_metric.h"

namespace det::client {

namespace {

constexpr size_t fewest_trials = 4;
constexpr size_t number_parts = 3;  // low, middle, high
constexpr size_t few_numbers = 5;   // each a part of its own, where it has trials enough
constexpr size_t fewest_in_part = 2;

struct Finished {
  std::map<std::string, Json> hparams;  // nested names with dots
  double metric = 0;                    // the smaller the better; NaN the worst
};

void flatten(const Json &hparams, const std::string &prefix, std::map<std::string, Json> &flat) {
  for (const auto &[name, value] : hparams.items())
    if (value.is_object()) flatten(value, prefix + name + ".", flat);
    else flat[prefix + name] = value;
}

std::vector<Finished> finished_trials(Client &client, int64_t experiment_id,
                                      const engine::SearcherMetric &metric) {
  std::vector<Finished> finished;
  engine::Page page;
  for (Json next = 0; !next.is_null();) {
    page.after = next.get<int64_t>();
    const Json list = client.list_trials(experiment_id, page);
    for (const Json &trial : list.at("trials")) {
      const auto value = engine::searcher_value({{metric.name, trial.at("best_metric")}}, metric);
      if (!value || trial.at("end_time").is_null()) continue;
      finished.push_back({{}, metric.smaller_is_better ? *value : -*value});
      if (trial.at("hparams").is_object())
        flatten(trial.at("hparams"), "", finished.back().hparams);
    }
    next = list.at("next");
  }
  return finished;
}

// Whether the configuration draws this hyperparameter by its exponent.
bool is_log(const Json &config, const std::string &name) {
  const Json *here = &config;
  for (std::string path = "hyperparameters." + name;;) {
    const size_t dot = path.find('.');
    const auto found = here->is_object() ? here->find(path.substr(0, dot)) : here->end();
    if (!here->is_object() || found == here->end()) return false;
    here = &*found;
    if (dot == path.npos) break;
    path = path.substr(dot + 1);
  }
  return here->is_object() && here->value("type", Json()) == "log";
}

// The trials that have the hyperparameter.
struct Column {
  std::vector<Json> values;
  std::vector<double> metric;
  bool numeric = true;
  bool varies = false;

  Column(const std::vector<Finished> &trials, const std::string &name) {
    for (const Finished &trial : trials) {
      const auto found = trial.hparams.find(name);
      if (found == trial.hparams.end()) continue;
      values.push_back(found->second);
      metric.push_back(trial.metric);
      numeric = numeric && found->second.is_number();
      varies = varies || found->second != values.front();
    }
  }
};

std::vector<size_t> parts_by_text(const Column &column) {
  std::map<std::string, size_t> numbers;
  std::vector<size_t> part;
  for (const Json &value : column.values)
    part.push_back(numbers.emplace(to_wire(value), numbers.size()).first->second);
  return part;
}

double quantile(const std::vector<double> &sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// How the metric is where the hyperparameter is like this.
Json part_entry(const Column &column, const std::vector<size_t> &part, size_t number, double sign) {
  Json from;
  Json to;
  std::vector<double> finite;
  int64_t trials = 0;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] != number) continue;
    ++trials;
    const Json &value = column.values[i];
    if (from.is_null() || (column.numeric && value < from)) from = value;
    if (to.is_null() || (column.numeric && value > to)) to = value;
    if (std::isfinite(column.metric[i])) finite.push_back(sign * column.metric[i]);
  }
  std::ranges::sort(finite);
  Json quartiles;
  if (!finite.empty())
    for (const double fraction : {0.0, 0.25, 0.5, 0.75, 1.0})
      quartiles.push_back(quantile(finite, fraction));
  return {{"from", from}, {"to", to}, {"trials", trials}, {"metric", quartiles}};
}

Json hparam_entry(const Column &column, const std::string &name, const Importance &importance,
                  const Json &config, double sign) {
  std::vector<double> numbers;
  if (column.numeric)
    for (const Json &value : column.values) numbers.push_back(value.get<double>());
  const std::vector<double> value_ranks = ranks_of(numbers);

  std::vector<size_t> part = parts_by_text(column);
  size_t parts = *std::ranges::max_element(part) + 1;
  if (column.numeric) {
    const bool each = parts <= few_numbers && numbers.size() >= fewest_in_part * parts;
    part = parts_of(
        numbers, each ? numbers.size() : std::min(number_parts, numbers.size() / fewest_in_part));
    parts = *std::ranges::max_element(part) + 1;
  }
  const Influence influence =
      influence_of(ranks_of(column.metric), part, column.numeric ? &value_ranks : nullptr);
  Json groups = Json::array();
  for (size_t i = 0; i < parts; ++i) groups.push_back(part_entry(column, part, i, sign));
  return {{"name", name},
          {"type", column.numeric ? "number" : "category"},
          {"log", is_log(config, name)},
          {"importance", importance.mean},
          {"error", importance.error},
          {"p_value", influence.p_value},
          {"trend", column.numeric ? Json(sign * influence.trend) : Json()},
          {"trials", column.values.size()},
          {"groups", std::move(groups)}};
}

// Its values over all trials; NaN where a trial does not have it.
Variable variable_of(const std::vector<Finished> &trials, const std::string &name, bool numeric) {
  Variable variable{!numeric, {}};
  std::map<std::string, double> numbers;
  for (const Finished &trial : trials) {
    const auto found = trial.hparams.find(name);
    if (found == trial.hparams.end()) {
      variable.values.push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (numeric) {
      variable.values.push_back(found->second.get<double>());
    } else {
      const double next = static_cast<double>(numbers.size());
      variable.values.push_back(numbers.emplace(to_wire(found->second), next).first->second);
    }
  }
  return variable;
}

}  // namespace

Json hparam_importance(Client &client, int64_t experiment_id) {
  const Json experiment = client.describe_experiment(experiment_id);
  const std::string tried =
      "ranking the hyperparameters of experiment " + std::to_string(experiment_id) + ": ";
  const auto metric = engine::searcher_metric(experiment.at("config"));
  if (!metric)
    throw Error(Code::state, tried + "its configuration names no searcher.metric to rank them by");
  const std::vector<Finished> trials = finished_trials(client, experiment_id, *metric);
  if (trials.size() < fewest_trials)
    throw Error(Code::state, tried + "it has " + std::to_string(trials.size()) +
                                 " finished trial(s) with a value of '" + metric->name +
                                 "', and fewer than " + std::to_string(fewest_trials) +
                                 " tell nothing; let more of them finish");
  std::set<std::string> names;
  for (const Finished &trial : trials)
    for (const auto &[name, value] : trial.hparams) names.insert(name);

  std::vector<std::string> varying;
  std::vector<Column> columns;
  std::vector<Variable> variables;
  for (const std::string &name : names) {
    Column column(trials, name);
    if (!column.varies || column.values.size() < fewest_trials) continue;
    varying.push_back(name);
    variables.push_back(variable_of(trials, name, column.numeric));
    columns.push_back(std::move(column));
  }
  std::vector<double> metrics;
  for (const Finished &trial : trials) metrics.push_back(trial.metric);
  const std::vector<double> ranks = ranks_of(metrics);
  const bool same = std::ranges::count(ranks, ranks.front()) == std::ranges::ssize(ranks);
  const ForestImportance forest = forest_importance(variables, ranks);

  std::vector<Json> entries;
  for (size_t i = 0; i < columns.size(); ++i)
    entries.push_back(hparam_entry(columns[i], varying[i], forest.variables[i],
                                   experiment.at("config"), metric->smaller_is_better ? 1 : -1));
  std::ranges::stable_sort(entries, [](const Json &a, const Json &b) {
    return std::pair(b.at("importance").get<double>(), a.at("p_value").get<double>()) <
           std::pair(a.at("importance").get<double>(), b.at("p_value").get<double>());
  });
  return {{"experiment_id", experiment_id},
          {"searcher_metric", metric->name},
          {"smaller_is_better", metric->smaller_is_better},
          {"trials", trials.size()},
          {"explained", same ? Json() : Json(std::max(forest.explained, 0.0))},
          {"hparams", entries}};
}

}  // namespace det::client
