// Reporting metrics, status and progress: into the journal, from where the shipper takes them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/context/lifetime.h"
#include "core/context/tensorboard.h"
#include "core/engine/runs/run_backend.h"
#include "core/journal/shipper.h"
#include "core/journal/spool.h"
#include "core/profiler/regions/regions.h"

namespace det::context {

// Reports on their way to the master, for what must not overtake them.
class ReportDelivery {
 public:
  // Without a spool and its shipper there are no reports.
  ReportDelivery(journal::Spool *spool, journal::Shipper *shipper)
      : spool_(spool), shipper_(shipper) {}

  // Waits until the master has every report made before. Throws Code::timeout, and Code::conflict
  // once for reports that contradicted an earlier one.
  void flush(std::optional<std::chrono::milliseconds> timeout);

  // The same for calls that must not overtake the reports before them.
  void deliver_all();

  // The same for a checkpoint, which should not: for a moment, and in vain (false) where the master
  // is far behind or away.
  bool give_way() noexcept;

  // Into the journal. None where there is no journal; throws as a report does.
  std::optional<uint64_t> keep(const engine::CheckpointReport &report);

 private:
  journal::Spool *const spool_;
  journal::Shipper *const shipper_;
};

class TrainContext {
 public:
  // Without a spool and its shipper where the master is unreachable().
  TrainContext(const Lifetime &lifetime, engine::RunBackend &master, journal::Spool *spool,
               journal::Shipper *shipper, TensorboardContext &tensorboard,
               profiler::Regions &regions, Logger &logger)
      : lifetime_(lifetime),
        master_(master),
        most_steps_(master.most_steps()),
        spool_(spool),
        delivery_(spool, shipper),
        tensorboard_(tensorboard),
        logger_(logger),
        regions_(regions) {}

  void report_training(int64_t steps, const journal::NamedValue *values, size_t count) {
    report_forward("training", training_steps_, steps, values, count);
  }
  void report_validation(int64_t steps, const journal::NamedValue *values, size_t count) {
    report_forward("validation", validation_steps_, steps, values, count);
  }
  void report(std::string_view group, int64_t steps, const journal::NamedValue *values,
              size_t count, const Measured &measured = {});
  void report_json(const std::string &group, int64_t steps, const Json &metrics,
                   const std::optional<Json> &batches, const Measured &measured = {});

  void set_status(std::string_view status);
  void report_progress(double fraction);
  void append_progress(double fraction);  // checked already
  void log(LogLevel level, std::string_view text);

  // For calls of the program, which a closed core refuses.
  profiler::Regions &open_regions() {
    lifetime_.check();
    return regions_;
  }
  profiler::Regions &regions() { return regions_; }

  ReportDelivery &delivery() { return delivery_; }
  TensorboardContext &tensorboard() { return tensorboard_; }

  void flush(std::optional<std::chrono::milliseconds> timeout);
  void report_early_exit(const std::string &reason);
  void set_metadata(const Json &metadata);
  Json metadata();
  std::optional<double> best_validation();
  std::optional<int64_t> last_validation();

 private:
  void report_forward(std::string_view group, std::atomic<int64_t> &last, int64_t steps,
                      const journal::NamedValue *values, size_t count,
                      const Measured &measured = {}) {
    lifetime_.check();
    const profiler::SampledLibraryCall timed(regions_);
    if (steps < last.load(std::memory_order_relaxed) || steps > most_steps_) [[unlikely]]
      refuse_steps(group, last, steps);
    spool().append_metrics(group, steps, values, count, measured);
    advance(last, steps);
    lifetime_.check();  // a close meanwhile may not have seen the report
  }

  journal::Spool &spool() const {
    if (spool_ == nullptr) [[unlikely]]
      refuse();
    return *spool_;
  }

  static void advance(std::atomic<int64_t> &last, int64_t steps) {
    int64_t seen = last.load(std::memory_order_relaxed);
    while (seen < steps && !last.compare_exchange_weak(seen, steps, std::memory_order_relaxed)) {
    }
  }

  [[noreturn]] void refuse() const;
  void check_steps(std::string_view group, int64_t steps) const;
  [[noreturn]] void refuse_steps(std::string_view group, const std::atomic<int64_t> &last,
                                 int64_t steps) const;

  const Lifetime &lifetime_;
  engine::RunBackend &master_;
  const int64_t most_steps_;
  journal::Spool *const spool_;
  ReportDelivery delivery_;
  TensorboardContext &tensorboard_;
  Logger &logger_;
  profiler::Regions &regions_;
  std::atomic<int64_t> training_steps_{0};
  std::atomic<int64_t> validation_steps_{0};
};

}  // namespace det::context
