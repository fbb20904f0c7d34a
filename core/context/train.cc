#include "core/context/train.h"

#include "core/base/error.h"
#include "core/base/text/utf8.h"
#include "core/journal/report_names.h"

namespace det::context {

namespace {

// Long enough for a busy store, short enough for a person to learn that something is wrong.
constexpr std::chrono::seconds delivery_limit{60};
// Enough for reports that are on their way anyway.
constexpr std::chrono::seconds order_limit{2};

void check_measured(const Measured &measured) {
  constexpr int most = UINT16_MAX;  // what the journal has room for
  if (measured.rank < 0 || measured.rank > most)
    throw Error(Code::invalid, "reporting metrics: rank " + std::to_string(measured.rank) +
                                   " is not one from 0 to " + std::to_string(most));
  if (measured.time_us < 0)
    throw Error(Code::invalid, "reporting metrics: time_us is " + std::to_string(measured.time_us) +
                                   "; give microseconds since 1970, or 0 for now");
}

void check_metrics(const std::string &group, const Json &metrics,
                   const std::optional<Json> &batches) {
  if (group == "validation")
    for (auto it = metrics.begin(); it != metrics.end(); ++it)
      if (it->is_null())
        throw Error(Code::invalid, "reporting validation metrics: '" + it.key() +
                                       "' is null; leave it out or give it a value");
  if (!batches) return;
  if (!batches->is_array())
    throw Error(Code::invalid, "reading batch_metrics_json: expected a JSON array of objects");
  for (const Json &batch : *batches)
    if (!batch.is_object())
      throw Error(Code::invalid,
                  "reading batch_metrics_json: expected only objects, found " + to_wire(batch));
}

}  // namespace

void ReportDelivery::flush(std::optional<std::chrono::milliseconds> timeout) {
  if (shipper_ == nullptr) return;  // there are no reports
  shipper_->flush(spool_->last_sequence(), timeout);
  if (const std::optional<std::string> told = shipper_->take_told())
    throw Error(Code::conflict, *told);
}

void ReportDelivery::deliver_all() {
  if (shipper_ != nullptr) shipper_->flush(spool_->last_sequence(), delivery_limit);
}

bool ReportDelivery::give_way() noexcept {
  try {
    if (shipper_ == nullptr || !shipper_->last_failure().empty()) return false;
    shipper_->flush(spool_->last_sequence(), order_limit);
    return true;
  } catch (const std::exception &) {
    return false;  // they come later
  }
}

std::optional<uint64_t> ReportDelivery::keep(const engine::CheckpointReport &report) {
  if (spool_ == nullptr) return std::nullopt;
  return spool_->append_checkpoint(pack(engine::to_json(report)));
}

void TrainContext::refuse() const { throw Error(Code::unsupported, master_.unreachable()); }

void TrainContext::check_steps(std::string_view group, int64_t steps) const {
  if (steps >= 0 && steps <= most_steps_) return;
  throw Error(Code::invalid,
              "reporting metrics of group '" + std::string(group) + "': steps_completed is " +
                  std::to_string(steps) +
                  (steps < 0 ? "; steps count from 0"
                             : "; this master takes at most " + std::to_string(most_steps_)));
}

void TrainContext::refuse_steps(std::string_view group, const std::atomic<int64_t> &last,
                                int64_t steps) const {
  check_steps(group, steps);
  throw Error(Code::invalid, "reporting metrics of group '" + std::string(group) +
                                 "': steps_completed went back from " +
                                 std::to_string(last.load()) + " to " + std::to_string(steps) +
                                 "; steps count from the beginning of the trial. To train a "
                                 "stretch again, start a new run with det_core_init()");
}

void TrainContext::report(std::string_view group, int64_t steps, const journal::NamedValue *values,
                          size_t count, const Measured &measured) {
  check_measured(measured);
  if (group == "training")
    return report_forward(group, training_steps_, steps, values, count, measured);
  if (group == "validation")
    return report_forward(group, validation_steps_, steps, values, count, measured);
  lifetime_.check();
  const profiler::SampledLibraryCall timed(regions_);
  journal::check_group(group);
  check_steps(group, steps);
  spool().append_metrics(group, steps, values, count, measured);
  lifetime_.check();
}

void TrainContext::report_json(const std::string &group, int64_t steps, const Json &metrics,
                               const std::optional<Json> &batches, const Measured &measured) {
  lifetime_.check();
  const profiler::LibraryCall timed(regions_);
  check_measured(measured);
  journal::check_group(group);
  check_steps(group, steps);
  check_metrics(group, metrics, batches);
  std::atomic<int64_t> *last = group == "training"     ? &training_steps_
                               : group == "validation" ? &validation_steps_
                                                       : nullptr;
  if (last != nullptr && steps < last->load()) refuse_steps(group, *last, steps);
  spool().append_metrics_json(group, steps, to_wire(metrics), batches ? to_wire(*batches) : "",
                              measured);
  if (last != nullptr) advance(*last, steps);
  lifetime_.check();
}

void TrainContext::set_status(std::string_view status) {
  lifetime_.check();
  if (!is_utf8(status)) throw Error(Code::invalid, "setting the status: it is not in UTF-8");
  spool().append_status(status);
  lifetime_.check();
}

void TrainContext::report_progress(double fraction) {
  lifetime_.check();
  if (!(fraction >= 0 && fraction <= 1))
    throw Error(Code::invalid, "reporting progress of " + std::to_string(fraction) +
                                   ": expected a fraction from 0 to 1");
  append_progress(fraction);
}

void TrainContext::append_progress(double fraction) {
  spool().append_progress(fraction);
  lifetime_.check();
}

void TrainContext::log(LogLevel level, std::string_view text) {
  lifetime_.check();
  if (text.size() > 65536)
    throw Error(Code::invalid, "logging " + std::to_string(text.size()) +
                                   " bytes: one call takes at most 65536; log in parts");
  spool().append_log(static_cast<int>(level), text);
  lifetime_.check();
}

void TrainContext::flush(std::optional<std::chrono::milliseconds> timeout) {
  lifetime_.check();
  const profiler::LibraryCall timed(regions_);
  delivery_.flush(timeout);
}

void TrainContext::report_early_exit(const std::string &reason) {
  lifetime_.check();
  const profiler::LibraryCall timed(regions_);
  delivery_.deliver_all();
  if (!master_.report_early_exit(reason))
    logger_.warning("reporting the early exit " + reason +
                    ": one was reported before, which stays");
}

void TrainContext::set_metadata(const Json &metadata) {
  lifetime_.check();
  const profiler::LibraryCall timed(regions_);
  master_.set_metadata(metadata);
}

Json TrainContext::metadata() {
  lifetime_.check();
  const profiler::LibraryCall timed(regions_);
  return master_.metadata();
}

std::optional<double> TrainContext::best_validation() {
  lifetime_.check();
  const profiler::LibraryCall timed(regions_);
  delivery_.deliver_all();
  return master_.best_validation();
}

std::optional<int64_t> TrainContext::last_validation() {
  lifetime_.check();
  const profiler::LibraryCall timed(regions_);
  delivery_.deliver_all();
  return master_.last_validation();
}

}  // namespace det::context
