#include "core/tensorboard/event_writer.h"

#include <set>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tensorboard/event.h"
#include "core/tensorboard/hparams.h"

namespace det::tensorboard {

namespace {

bool is_scalar(const Json &value) { return value.is_number() || value.is_boolean(); }

double scalar(const Json &value) {
  return value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
}

std::string tag_of(std::string_view metric, bool of_validation) {
  std::string tag = "Determined/";
  if (of_validation && !metric.starts_with("val")) tag += "val_";
  tag += metric;
  return tag;
}

double seconds_now() { return static_cast<double>(now_us()) / 1e6; }

}  // namespace

EventWriter::EventWriter(std::shared_ptr<EventFile> file, std::shared_ptr<Logger> logger,
                         Json config)
    : file_(std::move(file)), logger_(std::move(logger)), config_(std::move(config)) {}

template <class Append>
void EventWriter::put(const Append &append) {
  events_.clear();
  values_.clear();
  scalars_ = 0;
  try {
    append();
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

void EventWriter::write(std::span<const Report> reports) {
  put([&] {
    for (const Report &report : reports) append(report);
  });
}

void EventWriter::end(std::optional<bool> succeeded) {
  if (!file_->is_begun()) return;
  put([&] {
    append_search();
    if (succeeded) events_ += session_end_event(seconds_now(), *succeeded);
  });
}

void EventWriter::append(const Report &report) {
  if (report.group != "training" && report.group != "validation") return;
  if (report.kind == ReportKind::metrics_json) {
    append_json(report);
  } else if (report.kind == ReportKind::metrics) {
    for (const MetricValue &metric : report.values) add_scalar(report, metric.name, metric.value);
    append_scalars(report, report.steps);
  }
  if (report.group == "validation") append_search();
}

void EventWriter::append_search() {
  if (std::exchange(told_search_, true)) return;
  std::vector<MetricColumn> columns;
  // What the search goes by comes first.
  const Json searcher = config_.is_object() ? config_.value("searcher", Json()) : Json();
  if (searcher.is_object() && searcher.contains("metric") && searcher["metric"].is_string()) {
    columns.push_back({tag_of(searcher["metric"].get<std::string>(), true), true});
    of_validation_.erase(columns.back().tag);
  }
  for (const auto &[tag, of_validation] : of_validation_) columns.push_back({tag, of_validation});
  of_validation_.clear();
  events_ += search_event(seconds_now(), config_, columns);
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
        if (is_scalar(value)) add_scalar(report, name, scalar(value));
      }
      append_scalars(report, step++);
    }
  }
  const Json metrics = parse_json_object(report.text, "metrics_json");
  for (const auto &[name, value] : metrics.items())
    if (is_scalar(value) && !per_batch.contains(name)) add_scalar(report, name, scalar(value));
  append_scalars(report, report.steps);
}

void EventWriter::add_scalar(const Report &report, std::string_view name, double value) {
  const bool of_validation = report.group == "validation";
  std::vector<Tag> &tags = of_validation ? validation_tags_ : training_tags_;
  if (tags.size() == scalars_) tags.emplace_back();
  Tag &tag = tags[scalars_++];
  if (tag.metric != name || tag.text.empty()) {
    tag = {std::string(name), tag_of(name, of_validation)};
    if (!told_search_) of_validation_.try_emplace(tag.text, of_validation);
  }
  append_scalar(values_, tag.text, static_cast<float>(value));
}

void EventWriter::append_scalars(const Report &report, int64_t step) {
  if (scalars_ == 0) return;
  append_values_event(events_, static_cast<double>(report.time_us) / 1e6, step, values_);
  values_.clear();
  scalars_ = 0;
}

}  // namespace det::tensorboard
