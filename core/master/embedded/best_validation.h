// The best value of the metric that an experiment searches over.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/json.h"
#include "core/master/embedded/sqlite.h"

namespace det {

struct SearcherMetric {
  std::string name;
  bool smaller_is_better = true;
};

// `searcher.metric` and its direction; none when the configuration names none.
std::optional<SearcherMetric> searcher_metric(const Json &config);

// Over the validations that are not archived, of all trials of the experiment or of one. Values
// that are no numbers count as missing; NaN is the worst of all.
std::optional<double> best_validation(Database &store, int64_t experiment_id, int64_t trial_id = 0);

}  // namespace det
