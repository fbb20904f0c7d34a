// Which metrics a trial has, by group.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wrappers/cli/library_client.h"

namespace det::cli {

// That an error tells of each group: the profiler's have hundreds.
inline constexpr size_t few_names = 20;

struct MetricNames {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;

  // Each name once, in the order of the groups. No group: of all.
  std::vector<std::string> of(const std::optional<std::string> &group) const;

  // "training: loss, accuracy; validation: loss"; of each group at most so many.
  std::string listed(size_t most = std::numeric_limits<size_t>::max()) const;

  bool has(const std::optional<std::string> &group, const std::vector<std::string> &names) const;

  // Throws Failure (not found), listing what there is, unless it has them.
  void require(int64_t trial_id, const std::optional<std::string> &group,
               const std::vector<std::string> &names) const;
};

// Adds the metrics in the latest reports of a group, where there are any: a master may have groups
// whose names it does not list, such as those of the profiler.
void add_from_reports(Client &client, int64_t trial_id, const std::string &group,
                      MetricNames &names);

// From the names by group, as Client::metric_names() and the answer about a trial have them.
MetricNames metric_names(const Json &groups);

}  // namespace det::cli
