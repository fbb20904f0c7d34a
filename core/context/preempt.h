// Being asked to stop.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "core/base/log/log.h"
#include "core/base/wake.h"
#include "core/comm/communicator.h"
#include "core/context/lifetime.h"
#include "core/context/process/signals.h"
#include "core/engine/runs/run_backend.h"
#include "core/profiler/regions/regions.h"

namespace det::context {

// Same numbers as DET_PREEMPT_MODE_* in include/det/preempt.h.
enum class PreemptMode : int { workers_ask_chief = 0, chief_only = 1, workers_ask_master = 2 };

class PreemptContext {
 public:
  PreemptContext(const Lifetime &lifetime, comm::Communicator &communicator,
                 engine::RunBackend &master, profiler::Regions &regions, Logger &logger,
                 PreemptMode mode, std::unique_ptr<SignalHooks> signals);
  ~PreemptContext() { stop(); }

  bool should_preempt(bool auto_acknowledge) {
    lifetime_.check();
    if (asks_itself_ && !preempted_.load(std::memory_order_relaxed)) [[likely]]
      return false;
    return ask(auto_acknowledge);
  }

  // Whether should_preempt() is a collective: the ranks have the chief's answer.
  bool shares_answers() const { return shares_; }

  void acknowledge();

  // Whether the program was told to stop, or said that it does.
  bool has_told() const noexcept { return told_.load(std::memory_order_relaxed); }

  bool preempted() const noexcept { return preempted_.load(std::memory_order_relaxed); }

  enum class Request { noted, closed, out_of_reach };
  // Async-signal-safe. Out of reach: no way leads from this rank to the chief, who decides.
  Request request() noexcept;

  // Ends the watcher; the answer no longer changes.
  void stop();

 private:
  bool ask(bool auto_acknowledge);
  bool decide(bool auto_acknowledge);
  void pass_on_to_chief() noexcept;
  void watch();
  void watch_for_preemption();
  bool told_by_process() const noexcept;
  void note_if_told_by_process();

  const Lifetime &lifetime_;
  comm::Communicator &communicator_;
  engine::RunBackend &master_;
  profiler::Regions &regions_;
  Logger &logger_;
  const bool watches_;      // this rank asks the master
  const bool shares_;       // the chief's answer is everybody's
  const bool asks_itself_;  // the answer of this rank is its own
  const bool reaches_chief_;

  std::atomic<bool> preempted_{false};
  std::atomic<bool> told_{false};
  std::atomic<bool> requested_{false};
  std::atomic<bool> stopping_{false};
  const std::unique_ptr<SignalHooks> signals_;
  const Wake &wake_;
  std::mutex mutex_;  // of what is said to the master
  bool noted_ = false;
  bool acknowledged_ = false;
  std::thread watcher_;
};

}  // namespace det::context
