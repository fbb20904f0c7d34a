// Asks whether the run should stop: after a pause, or a notice from a scheduler or a spot machine.
#pragma once

#include <det/preempt.h>
#include <det/error.hpp>

namespace det {
inline namespace v1 {

enum class PreemptMode : det_preempt_mode {
  workers_ask_chief = DET_PREEMPT_MODE_WORKERS_ASK_CHIEF,
  chief_only = DET_PREEMPT_MODE_CHIEF_ONLY,
  workers_ask_master = DET_PREEMPT_MODE_WORKERS_ASK_MASTER,
};

// A view borrowed from the core.
class Preempt {
 public:
  explicit Preempt(det_preempt_context *preempt) noexcept : preempt_(preempt) {}

  // True: save a checkpoint and leave. Fast enough for every batch.
  [[nodiscard]] bool should_preempt(OnFailure on = {}) const {
    return detail::call(on, det_preempt_should_preempt, preempt_) == DET_PREEMPTED;
  }
  // The same without telling the master. acknowledge() does that later.
  [[nodiscard]] bool should_preempt_no_ack(OnFailure on = {}) const {
    return detail::call(on, det_preempt_should_preempt_no_ack, preempt_) == DET_PREEMPTED;
  }
  void acknowledge(OnFailure on = {}) const { detail::call(on, det_preempt_acknowledge, preempt_); }
  // Raises the signal from inside the process. A signal handler may call it.
  Code request() const noexcept { return static_cast<Code>(det_preempt_request(preempt_)); }

  [[nodiscard]] det_preempt_context *capi() const noexcept { return preempt_; }

 private:
  det_preempt_context *preempt_;
};

}  // namespace v1
}  // namespace det
