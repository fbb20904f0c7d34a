#include "core/client/metric_series.h"

#include <limits>
#include <optional>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/report.h"
#include "core/base/text/dotted_name.h"

namespace det::client {

namespace {

// Values that JSON has no number for are texts.
std::optional<double> number_from(const Json &value) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace

MetricSeries read_metric_series(Client &client, int64_t trial_id, const std::string &group,
                                const std::string &name) {
  MetricSeries series;
  engine::Page page;
  for (;;) {
    const Json answer = parse_json(client.metrics_text(trial_id, group, page), "a page of metrics");
    for (const Json &report : answer.at("metrics")) {
      const Json &metrics = report.at("metrics");
      const Json *found = find_by_dotted_name(metrics, name);
      if (found == nullptr) continue;
      const std::optional<double> value = number_from(*found);
      if (!value) continue;
      const Json &time = report.at("time");
      const Json &steps = report.at("steps_completed");
      series.steps.push_back(steps.is_null() ? no_steps : steps.get<int64_t>());
      series.values.push_back(*value);
      series.times_us.push_back(
          time.is_string() ? parse_iso8601(time.get<std::string>()).value_or(0) : 0);
    }
    if (answer.at("next").is_null()) return series;
    page.after = answer.at("next").get<int64_t>();
  }
}

}  // namespace det::client
