#include "core/tensorboard/event_writer.h"

#include <set>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tensorboard/event.h"

namespace det::tensorboard {

namespace {

bool is_scalar(const Json &value) { return value.is_number() || value.is_boolean(); }

double scalar(const Json &value) {
  return value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
}

}  // namespace

void EventWriter::write(std::span<const Report> reports) {
  events_.clear();
  try {
    for (const Report &report : reports) append(report);
    if (events_.empty()) return;
    file_->append(events_);
    warned_ = false;
  } catch (const Error &e) {
    if (!warned_)
      logger_->warning(std::string(e.what()) +
                       "; TensorBoard misses these metrics, the master has them");
    warned_ = true;
  }
}

void EventWriter::append(const Report &report) {
  if (report.group != "training" && report.group != "validation") return;
  if (report.kind == ReportKind::metrics_json) append_json(report);
  if (report.kind != ReportKind::metrics) return;
  for (const MetricValue &metric : report.values)
    append_scalar(report, report.steps, metric.name, metric.value);
}

// A name that occurs in a batch is plotted per batch, and its average over the batches is not.
void EventWriter::append_json(const Report &report) {
  std::set<std::string> per_batch;
  if (report.group == "training" && !report.batches.empty()) {
    const Json batches = parse_json(report.batches, "batch_metrics_json");
    int64_t step = report.steps - static_cast<int64_t>(batches.size());
    for (const Json &batch : batches) {
      for (const auto &[name, value] : batch.items()) {
        per_batch.insert(name);
        if (is_scalar(value)) append_scalar(report, step, name, scalar(value));
      }
      ++step;
    }
  }
  const Json metrics = parse_json_object(report.text, "metrics_json");
  for (const auto &[name, value] : metrics.items())
    if (is_scalar(value) && !per_batch.contains(name))
      append_scalar(report, report.steps, name, scalar(value));
}

void EventWriter::append_scalar(const Report &report, int64_t step, std::string_view name,
                                double value) {
  tag_ = "Determined/";
  if (report.group == "validation" && !name.starts_with("val")) tag_ += "val_";
  tag_ += name;
  append_scalar_event(events_, static_cast<double>(report.time_us) / 1e6, step, tag_,
                      static_cast<float>(value));
}

}  // namespace det::tensorboard
