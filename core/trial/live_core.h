// The Core API of a run, as the sequencer of its chief calls it.
#pragma once

#include "core/context/core.h"
#include "core/trial/sequencer.h"

namespace det::trial {

class LiveCore : public CoreCalls {
 public:
  // Borrowed. From now on the chief alone asks for operations.
  explicit LiveCore(context::Core &core);

  void warn(const std::string &text) override { core_.logger().warning(text); }
  std::optional<int64_t> last_validation() override;
  std::optional<int64_t> next_operation() override;
  void set_status(std::string_view status) override { core_.train().set_status(status); }
  void report_training(int64_t steps, const Json &metrics,
                       const std::optional<Json> &batches) override;
  void report_progress(double length) override { operation_->report_progress(length); }
  void report_completed(const Json &metric) override { operation_->report_completed(metric); }
  void report_validation(int64_t steps, const Json &metrics) override;
  void report_invalid_hparams() override;
  std::optional<double> best_validation() override { return core_.train().best_validation(); }
  bool should_preempt() override { return core_.preempt().should_preempt(true); }

 private:
  context::Core &core_;
  context::SearcherOperation *operation_ = nullptr;
};

}  // namespace det::trial
