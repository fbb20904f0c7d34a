#include "core/context/preempt.h"

#include <string>
#include <utility>

#include "core/base/thread.h"
#include "core/comm/agreement.h"

namespace det::context {

PreemptContext::PreemptContext(const Lifetime &lifetime, comm::Communicator &communicator,
                               engine::RunBackend &master, profiler::Regions &regions,
                               Logger &logger, PreemptMode mode,
                               std::unique_ptr<SignalHooks> signals)
    : lifetime_(lifetime),
      communicator_(communicator),
      master_(master),
      regions_(regions),
      logger_(logger),
      watches_(mode == PreemptMode::workers_ask_master || communicator.is_chief()),
      shares_(mode == PreemptMode::workers_ask_chief && communicator.ranks().size > 1),
      asks_itself_(watches_ && !shares_),
      reaches_chief_(watches_ || master.unreachable().empty()),
      signals_(std::move(signals)),
      wake_(signals_->wake()) {
  if (watches_) watcher_ = start_thread("det-watcher", [this] { watch(); });
}

void PreemptContext::stop() {
  stopping_ = true;
  wake_.set();
  if (watcher_.joinable()) watcher_.join();
  const std::lock_guard guard(mutex_);
  signals_->release();
}

bool PreemptContext::told_by_process() const noexcept {
  return requested_.load() || signals_->raised() != nullptr;
}

void PreemptContext::watch() {
  watch_for_preemption();
  try {
    while (!stopping_ && master_.preemption().keep_alive(wake_)) wake_.clear();
  } catch (const std::exception &e) {
    logger_.error("keeping the trial alive: ", e.what());
  }
}

void PreemptContext::watch_for_preemption() {
  while (!stopping_) {
    try {
      if (told_by_process() || master_.preemption().wait(wake_)) preempted_ = true;
      wake_.clear();
      if (told_by_process()) preempted_ = true;
      if (!preempted_ || stopping_) continue;
      const std::lock_guard guard(mutex_);
      note_if_told_by_process();
      return;
    } catch (const std::exception &e) {
      logger_.warning("watching for a preemption signal: ", e.what());
      // The answer may be known although the master could not be told: acknowledge() tries again.
      if (preempted_) return;
      wake_.poll(std::chrono::seconds(1));
    }
  }
}

void PreemptContext::note_if_told_by_process() {
  if (noted_ || !told_by_process()) return;
  const SignalHook *hook = signals_->raised();
  master_.preemption().note(hook != nullptr ? "signal " + std::to_string(hook->signal())
                                            : "requested by the program");
  noted_ = true;
}

bool PreemptContext::ask(bool auto_acknowledge) {
  const profiler::LibraryCall timed(regions_);
  if (asks_itself_) return decide(auto_acknowledge);
  if (!shares_)
    throw Error(Code::state,
                "calling should_preempt: called from non-chief rank " +
                    std::to_string(communicator_.ranks().rank) +
                    " in mode DET_PREEMPT_MODE_CHIEF_ONLY; call it on rank 0 and tell the others");
  if (!watches_) pass_on_to_chief();
  // So short a text takes no memory. An error of the chief is one on every rank: none is left
  // waiting for an answer.
  const std::string answer =
      comm::chief_decides(communicator_, {comm::ApiCall::should_preempt},
                          [&] { return std::string(decide(auto_acknowledge) ? "1" : "0"); });
  if (answer == "1") preempted_ = told_ = true;
  return answer == "1";
}

bool PreemptContext::decide(bool auto_acknowledge) {
  if (!preempted_) return false;
  if (auto_acknowledge) acknowledge();
  told_ = true;
  return true;
}

// Once: the chief need not learn of it twice, nor the log.
void PreemptContext::pass_on_to_chief() noexcept {
  const std::lock_guard guard(mutex_);  // closing takes the hooks away
  if (noted_ || !told_by_process()) return;
  try {
    note_if_told_by_process();
  } catch (const std::exception &e) {
    logger_.warning("telling rank 0 to stop: ", e.what());
    noted_ = true;
  }
}

void PreemptContext::acknowledge() {
  lifetime_.check();
  const std::lock_guard guard(mutex_);
  if (acknowledged_) return;
  if (!preempted_)
    throw Error(Code::state,
                "acknowledging a preemption signal: none is pending; acknowledge only after "
                "should_preempt answered DET_PREEMPTED");
  note_if_told_by_process();
  master_.preemption().acknowledge();
  acknowledged_ = told_ = true;
}

PreemptContext::Request PreemptContext::request() noexcept {
  if (!lifetime_.open()) return Request::closed;
  if (!reaches_chief_) return Request::out_of_reach;
  requested_ = true;
  if (watches_) preempted_ = true;  // else the chief decides, told by the next call
  wake_.set();
  return Request::noted;
}

}  // namespace det::context
