#include "core/context/fatal_signals.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <string>

#include "core/base/error.h"
#include "core/base/fork_guard.h"

namespace det::context {

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

}  // namespace det::context
