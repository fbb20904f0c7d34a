#include "core/context/process/end_watch.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/fork_guard.h"
#include "core/base/thread.h"
#include "core/base/wake.h"
#include "core/context/process/signals.h"

namespace det::context {

// While it lives, a signal that ends the process, since nobody handles it, sets `begun` first; a
// forked child ends at once. A crash then waits where it is, until one of `done` is set or
// `patience` is over. Where the signal came from elsewhere the program goes on meanwhile, and the
// process ends when every hook has said work_is_done(), or at a second signal.
class FatalSignalHook {
 public:
  static constexpr uint32_t begun = 1;  // of `begin`

  // Throws Code::full when all hooks are taken.
  FatalSignalHook(Flags &begin, const Flags &done, std::chrono::milliseconds patience);
  // Where a signal is ending the process, both must live on: see signal().
  ~FatalSignalHook();
  FatalSignalHook(const FatalSignalHook &) = delete;
  FatalSignalHook &operator=(const FatalSignalHook &) = delete;

  static int signal() noexcept;  // which one is ending the process; 0: none

  // Whether the process ends by work_is_done(), which each hook owes once.
  static bool is_left_to_us() noexcept;
  static void work_is_done() noexcept;

  // Does not wait for `done` where the signal comes in the thread that calls this.
  void work_in_this_thread() const noexcept;

 private:
  size_t slot_;
  std::deque<HandledSignal> handled_;
};

namespace {

constexpr std::array fatal_signals = {SIGHUP,  SIGINT, SIGQUIT, SIGILL,  SIGTRAP,
                                      SIGABRT, SIGBUS, SIGFPE,  SIGSEGV, SIGTERM};

// All that the handler reads, and empty unless an option asked for it.
struct Slot {
  std::atomic<pid_t> process{0};  // a forked child has copies of its parent's
  std::atomic<Flags *> begin{nullptr};
  std::atomic<const Flags *> done{nullptr};
  std::atomic<int64_t> patience_ms{0};
  std::atomic<pid_t> worker{0};
};
std::array<Slot, 64> slots;
ForkMutex mutex;  // of taking and giving back slots
std::atomic<int> ending{0};
std::atomic<pid_t> ended_process{0};  // a child forked meanwhile has copies of all this
std::atomic<int> working{0};          // how many still have something to do before the process ends

// Sent by somebody, not caused by the thread that runs: that one can go on.
bool is_asynchronous(int signal) {
  return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

struct Working {
  const Flags *done;
  int64_t end;  // of the patience
};

// Whether the process is to end later, by end_process(). A second signal ends it at once.
bool leave_it_to_others(int signal) {
  const pid_t process = getpid();
  ended_process.store(process);
  int none = 0;
  if (!ending.compare_exchange_strong(none, signal)) return false;
  int count = 0;
  for (const Slot &slot : slots) count += slot.process.load() == process ? 1 : 0;
  working.store(count);
  for (const Slot &slot : slots) {
    if (slot.process.load() != process) continue;
    slot.begin.load()->set(FatalSignalHook::begun);
  }
  return count > 0;
}

void wait_for_work(int signal) {
  const pid_t process = getpid(), thread = gettid();
  const int64_t begin = now_ms();
  for (const Slot &slot : slots)
    if (slot.process.load() == process && slot.worker.load() == thread) return;
  // Before the slots are read: see the destructor.
  ended_process.store(process);
  int none = 0;
  ending.compare_exchange_strong(none, signal);
  // The work may end with giving back the slot.
  std::array<Working, slots.size()> working;
  size_t count = 0;
  for (const Slot &slot : slots) {
    if (slot.process.load() != process) continue;
    working[count++] = {slot.done.load(), begin + slot.patience_ms.load()};
    slot.begin.load()->set(FatalSignalHook::begun);
  }
  for (size_t i = 0; i < count; ++i)
    working[i].done->wait(
        std::chrono::milliseconds(std::max<int64_t>(working[i].end - now_ms(), 0)));
}

}  // namespace

FatalSignalHook::FatalSignalHook(Flags &begin, const Flags &done,
                                 std::chrono::milliseconds patience) {
  const pid_t self = getpid();
  for (const int signal : fatal_signals)
    if (is_unhandled(signal)) handled_.emplace_back(signal);
  const std::lock_guard guard(mutex);
  if (const pid_t ended = ended_process.load(); ended != 0 && ended != self) {
    ended_process.store(0);
    ending.store(0);
  }
  const auto free = std::find_if(slots.begin(), slots.end(),
                                 [&](const Slot &slot) { return slot.process.load() != self; });
  if (free == slots.end())
    throw Error(Code::full, "watching for the end of this process: " +
                                std::to_string(slots.size()) + " watch for it already");
  slot_ = static_cast<size_t>(free - slots.begin());
  free->begin.store(&begin);
  free->done.store(&done);
  free->patience_ms.store(patience.count());
  free->worker.store(0);
  free->process.store(self);
}

// The handler announces the end and then reads the slots; here it is the other way round. So where
// it may still use both, signal() says so afterwards.
FatalSignalHook::~FatalSignalHook() { slots[slot_].process.store(0); }

int FatalSignalHook::signal() noexcept { return ending.load(); }

bool FatalSignalHook::is_left_to_us() noexcept {
  return is_asynchronous(ending.load()) && ended_process.load() == getpid();
}

void FatalSignalHook::work_is_done() noexcept {
  if (working.fetch_sub(1) > 1) return;
  const int signal = ending.load();
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  kill(getpid(), signal);
}

void FatalSignalHook::work_in_this_thread() const noexcept { slots[slot_].worker.store(gettid()); }

bool end_by_fatal_signal(int signal) noexcept {
  if (std::find(fatal_signals.begin(), fatal_signals.end(), signal) == fatal_signals.end())
    return false;
  // A thread that is stopped here may hold a lock that the work needs.
  if (is_asynchronous(signal)) {
    if (leave_it_to_others(signal)) return true;
  } else {
    wait_for_work(signal);
  }
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  raise(signal);  // arrives when the handler returns
  return true;
}

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
