// What became of each metric of a trial.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "library_client.h"

namespace det::cli {

struct MetricSummary {
  std::string group, metric;
  Json last, lowest, highest;  // null without a finite value, but for the last
  Json last_steps, lowest_steps, highest_steps;
  int64_t values = 0;

  void add(const Json &value, const Json &steps);
  std::string name() const { return group + "." + metric; }
};

// Of numbers only, in the order in which the metrics appear. Reads all reports.
std::vector<MetricSummary> summarise_metrics(Client &client, int64_t trial_id);

}  // namespace det::cli
