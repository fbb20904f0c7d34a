// Which metrics a trial has, by group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "library_client.h"

namespace det::cli {

struct MetricNames {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;

  // Each name once, in the order of the groups. No group: of all.
  std::vector<std::string> of(const std::optional<std::string> &group) const;

  // "training: loss, accuracy; validation: loss".
  std::string listed() const;

  bool has(const std::optional<std::string> &group, const std::vector<std::string> &names) const;

  // Throws Failure (not found), listing what there is, unless it has them.
  void require(int64_t trial_id, const std::optional<std::string> &group,
               const std::vector<std::string> &names) const;
};

// From the names by group, as Client::metric_names() and the answer about a trial have them.
MetricNames metric_names(const Json &groups);

}  // namespace det::cli
