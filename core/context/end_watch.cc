#include "core/context/end_watch.h"

#include <stdlib.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/fork_guard.h"
#include "core/base/thread.h"
#include "core/base/wake.h"
#include "core/context/fatal_signals.h"

namespace det::context {

// Shared with those who are telling, since what they tell may destroy the watch.
class EndWatch::State {
 public:
  State(Told told, std::chrono::milliseconds patience)
      : told_(std::move(told)),
        patience_(patience),
        hook_(std::in_place, begin_, done_, patience) {}

  static void begin(const std::shared_ptr<State> &state) {
    state->self_ = state;
    static const bool registered = on_exit(exiting, nullptr) == 0;
    if (!registered) throw std::bad_alloc();
    state->thread_ = start_thread("det-end", [state] { state->wait_for_signal(); });
    const std::lock_guard guard(list_mutex);
    list().push_back(state);
  }

  static void end(const std::shared_ptr<State> &state) {
    // The parent's thread is not ours to take down; its list keeps the state.
    if (state->fork_guard_.in_child()) return;
    {
      const std::lock_guard guard(list_mutex);
      std::erase(list(), state);
    }
    state->stop();
    // The handler may still use the flags.
    if (FatalSignalHook::signal() != 0)
      static_cast<void>(new (std::nothrow) std::shared_ptr<State>(state));
  }

 private:
  // Never destroyed: exit() comes here after the destructors of static objects, too.
  using List = std::vector<std::shared_ptr<State>>;
  static List &list() {
    static List &one = *new List;
    return one;
  }
  static ForkMutex list_mutex;

  static void exiting(int status, void *) try {
    std::vector<std::shared_ptr<State>> all;
    {
      const std::lock_guard guard(list_mutex);
      all = list();
    }
    std::erase_if(all, [](const auto &state) { return state->fork_guard_.in_child(); });
    // A program that goes on after a signal may hear of the end and leave by itself: the end is the
    // signal's all the same. Where nothing is left to tell, that is about to come.
    const auto patience = all.empty() ? std::chrono::milliseconds(0) : all.front()->patience_;
    if (FatalSignalHook::is_left_to_us())
      std::this_thread::sleep_for(patience + std::chrono::seconds(1));
    for (const std::shared_ptr<State> &state : all) state->tell(status & 0xFF);
  } catch (const std::exception &) {
    // No memory: what was reported waits in the journal.
  }

  void wait_for_signal() {
    const uint32_t why = begin_.wait();
    if (FatalSignalHook::is_left_to_us()) {
      tell_for_a_while();
      FatalSignalHook::work_is_done();
    } else {
      if ((why & FatalSignalHook::begun) != 0) tell(-FatalSignalHook::signal());
      done_.set(ended);
    }
  }

  void tell_for_a_while() {
    const std::shared_ptr<State> state = self_.lock();
    try {
      start_thread("det-ending", [state] {
        state->tell(-FatalSignalHook::signal());
        state->done_.set(ended);
      }).detach();
    } catch (const std::exception &) {
      return tell(-FatalSignalHook::signal());  // no thread is left: a second signal ends it
    }
    done_.wait(patience_);
  }

  void tell(int status) {
    const std::lock_guard telling(telling_);
    if (over_.exchange(true)) return;
    hook_->work_in_this_thread();
    teller_.store(std::this_thread::get_id());
    try {
      told_(status);
    } catch (...) {
      // The process ends: there is nobody to tell.
    }
    teller_.store({});
  }

  void stop() {
    over_.store(true);
    const bool inside = teller_.load() == std::this_thread::get_id();
    if (!inside) const std::lock_guard until_told(telling_);
    hook_.reset();
    begin_.set(stopped);
    if (inside) thread_.detach();  // it may be this one, or wait for this one
    else thread_.join();
  }

  const Told told_;
  const std::chrono::milliseconds patience_;
  std::weak_ptr<State> self_;
  ForkGuard fork_guard_;
  static constexpr uint32_t stopped = 2;  // of `begin_`
  static constexpr uint32_t ended = 1;    // of `done_`
  Flags begin_, done_;
  std::optional<FatalSignalHook> hook_;
  std::mutex telling_;
  std::atomic<bool> over_{false};
  std::atomic<std::thread::id> teller_{};
  std::thread thread_;
};

ForkMutex EndWatch::State::list_mutex;

EndWatch::EndWatch(Told told, std::chrono::milliseconds patience)
    : state_(std::make_shared<State>(std::move(told), patience)) {
  State::begin(state_);
}

EndWatch::~EndWatch() { State::end(state_); }

}  // namespace det::context
