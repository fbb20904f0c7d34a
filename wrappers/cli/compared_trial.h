// Trials beside each other: what `det compare` knows of each.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "library_client.h"
#include "metric_summary.h"

namespace det::cli {

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

ComparedTrial read_compared_trial(Client &client, int64_t id);

// Each name once; all, or those with different values.
std::vector<std::string> hparams_of(const std::vector<ComparedTrial> &trials, bool only_different);
std::vector<std::string> metrics_of(const std::vector<ComparedTrial> &trials);

}  // namespace det::cli
