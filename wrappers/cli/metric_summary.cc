#include "metric_summary.h"

#include <cmath>
#include <map>

#include "field_text.h"

namespace det::cli {

void MetricSummary::add(const Json &value, const Json &steps) {
  ++values;
  last = value;
  last_steps = steps;
  const double number = double_of(value);
  if (!std::isfinite(number)) return;
  if (lowest.is_null() || number < double_of(lowest)) {
    lowest = value;
    lowest_steps = steps;
  }
  if (highest.is_null() || number > double_of(highest)) {
    highest = value;
    highest_steps = steps;
  }
}

std::vector<MetricSummary> summarise_metrics(Client &client, int64_t trial_id) {
  std::vector<MetricSummary> summaries;
  std::map<std::pair<std::string, std::string>, size_t> places;
  client.each_metric(trial_id, std::nullopt, [&](const Json &report) {
    const std::string group = text_of(field(report, "group"));
    for (const auto &[metric, value] : field(report, "metrics").items()) {
      if (!value.is_number() && std::isnan(double_of(value)) && value != "NaN") continue;
      const auto [place, is_new] = places.try_emplace({group, metric}, summaries.size());
      if (is_new) {
        summaries.emplace_back();
        summaries.back().group = group;
        summaries.back().metric = metric;
      }
      summaries[place->second].add(value, field(report, "steps_completed"));
    }
    return true;
  });
  return summaries;
}

}  // namespace det::cli
