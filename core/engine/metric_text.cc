#include "core/engine/metric_text.h"

#include <cmath>

#include "core/base/dotted_name.h"
#include "core/base/json.h"

namespace det::engine {

void MetricText::read(const Report &report) {
  batches_.clear();
  is_reduced_ = false;
  names_.clear();
  if (report.kind == ReportKind::metrics_json) {
    const Json parsed = parse_json_object(report.text, "metrics");
    dotted_.clear();
    each_dotted_name(parsed,
                     [this](const std::string &name, const Json &) { dotted_.push_back(name); });
    names_.assign(dotted_.begin(), dotted_.end());
    metrics_ = to_wire(parsed);
    if (report.batches.empty()) return;
    const Json batches = parse_json(report.batches, "batch metrics");
    if (!batches.empty()) batches_ = to_wire(batches);
    return;
  }
  metrics_ = '{';
  for (const MetricValue &metric : report.values) {
    if (metrics_.size() > 1) metrics_ += ',';
    names_.push_back(metric.name);
    metrics_ += quoted(metric.name);
    metrics_ += ':';
    if (std::isfinite(metric.value)) {
      append_number(metrics_, metric.value);
    } else {
      metrics_ += '"';
      append_number(metrics_, metric.value);
      metrics_ += '"';
    }
  }
  metrics_ += '}';
}

std::optional<std::string_view> MetricText::batches() const {
  if (batches_.empty()) return std::nullopt;
  return batches_;
}

void MetricText::reduce_metrics(const Json &metrics) {
  metrics_ = to_wire(metrics);
  is_reduced_ = true;
}

const std::string &MetricText::quoted(std::string_view name) {
  if (const auto found = quoted_.find(name); found != quoted_.end()) return found->second;
  constexpr size_t many = 100'000;  // names that are never the same again must not fill the memory
  if (quoted_.size() > many) quoted_.clear();
  return quoted_.emplace(name, to_wire(std::string(name))).first->second;
}

}  // namespace det::engine
