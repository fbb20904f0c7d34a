// The metric that a search is about, as a configuration names it and a validation has it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/base/json_fwd.h"

namespace det::engine {

struct SearcherMetric {
  std::string name;
  bool smaller_is_better = true;
};

// `searcher.metric` and its direction; none when the configuration names none.
std::optional<SearcherMetric> searcher_metric(const Json &config);

// What a validation has for it; none when it is missing or null. Texts of numbers are numbers.
// Throws Code::invalid for what is no number.
std::optional<double> searcher_value(const Json &metrics, const SearcherMetric &metric);

// The less the better: numbers, then NaN, then none.
using MetricRank = std::pair<int, double>;
MetricRank rank_of(std::optional<double> value, const SearcherMetric &metric);

}  // namespace det::engine
