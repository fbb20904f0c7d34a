// Reports of metrics from their JSON, without making values of it: a plot may be of millions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace det::cli {

struct Report {
  std::string group;
  double steps = 0;  // NaN: of a time alone
  std::string time;  // as it is written; empty: not known
  // With dots in the names of nested ones. NaN also for null; what is no number is left out.
  std::vector<std::pair<std::string, double>> values;
};

// Of one answer of det_client_list_metrics(). Answers its `next`. Throws Failure.
std::optional<int64_t> parse_reports(std::string_view answer,
                                     const std::function<void(const Report &report)> &take);

}  // namespace det::cli
