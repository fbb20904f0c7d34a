#include "compared_trial.h"

#include <algorithm>

#include "field_text.h"

namespace det::cli {

namespace {

void add_name(std::vector<std::string> &names, const std::string &name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

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

}  // namespace det::cli
