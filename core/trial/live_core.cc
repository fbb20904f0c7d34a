#include "core/trial/live_core.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::trial {

LiveCore::LiveCore(context::Core &core) : core_(core) {
  if (core.preempt().shares_answers())
    throw Error(Code::state,
                "making a workload sequencer: in a job of several ranks the chief alone asks "
                "whether to stop; start the core with the preemption mode CHIEF_ONLY");
  core.searcher().configure(context::SearcherMode::chief_only, true);
}

std::optional<int64_t> LiveCore::last_validation() { return core_.train().last_validation(); }

std::optional<int64_t> LiveCore::next_operation() {
  operation_ = core_.searcher().next();
  if (operation_ == nullptr) return std::nullopt;
  return static_cast<int64_t>(std::min<uint64_t>(operation_->length(), endless));
}

void LiveCore::report_training(int64_t steps, const Json &metrics,
                               const std::optional<Json> &batches) {
  core_.train().report_json("training", steps, metrics, batches);
}

void LiveCore::report_validation(int64_t steps, const Json &metrics) {
  core_.train().report_json("validation", steps, metrics, std::nullopt);
}

void LiveCore::report_invalid_hparams() {
  core_.train().report_early_exit("EXITED_REASON_INVALID_HP");
}

}  // namespace det::trial
