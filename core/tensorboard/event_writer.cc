#include "core/tensorboard/event_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

std::string host_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

}  // namespace

EventWriter::EventWriter(std::shared_ptr<const TensorboardFiles> files,
                         std::shared_ptr<Logger> logger, std::function<int64_t()> clock)
    : files_(std::move(files)), logger_(std::move(logger)), clock_(std::move(clock)) {}

void EventWriter::write(std::span<const Report> reports) {
  events_.clear();
  try {
    for (const Report &report : reports) append(report);
    if (events_.empty()) return;
    put();
    warned_ = false;
  } catch (const Error &e) {
    abandon_file();
    if (!warned_)
      logger_->warning(std::string(e.what()) +
                       "; TensorBoard misses these metrics, the master has them");
    warned_ = true;
  }
}

// The next events go to a file of their own, and this one must not end in half a record.
void EventWriter::abandon_file() {
  if (!file_) return;
  if (size_ == 0) unlinkat(directory_.get(), std::filesystem::path(name_).filename().c_str(), 0);
  else [[maybe_unused]] const int cut = ftruncate(file_.get(), size_);
  file_ = Fd();
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

void EventWriter::put() {
  if (!file_) open(clock_() / 1'000'000);
  write_all(file_.get(), events_, name_);
  size_ += static_cast<off_t>(events_.size());
}

void EventWriter::open(int64_t second) {
  file_ = Fd();
  const std::filesystem::path shown = files_->path();
  directory_ = files_->open();
  const std::string begin = "events.out.tfevents." + std::to_string(second) + "." + host_name() +
                            "." + std::to_string(getpid()) + ".";
  // The process and a number keep apart what is made within one second.
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC;
  int number = 0;
  do {
    const std::string leaf = begin + std::to_string(number++);
    name_ = (shown / leaf).string();
    file_ = Fd(openat(directory_.get(), leaf.c_str(), flags, default_file_mode));
  } while (!file_ && errno == EEXIST);
  if (!file_) OsFailure{errno}.raise("making '" + name_ + "'");
  size_ = 0;
  std::string version;
  append_version_event(version, static_cast<double>(second));
  events_.insert(0, version);
}

}  // namespace det::tensorboard
