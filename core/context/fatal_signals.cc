#include "core/context/fatal_signals.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <string>

#include "core/base/error.h"

namespace det::context {

namespace {

constexpr std::array fatal_signals = {SIGHUP,  SIGINT, SIGQUIT, SIGILL,  SIGTRAP,
                                      SIGABRT, SIGBUS, SIGFPE,  SIGSEGV, SIGTERM};

// All that the handler reads, and empty unless an option asked for it.
struct Slot {
  std::atomic<pid_t> process{0};  // a forked child has copies of its parent's
  std::atomic<int> begin_fd{-1}, done_fd{-1};
  std::atomic<int64_t> patience_ms{0};
  std::atomic<pid_t> worker{0};
};
std::array<Slot, 64> slots;
std::mutex mutex;  // of taking and giving back slots
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

void wait_until_readable(int fd, int64_t end) {
  pollfd watched = {fd, POLLIN, 0};
  int ready;
  do ready = poll(&watched, 1, static_cast<int>(std::max<int64_t>(end - now_ms(), 0)));
  while (ready < 0 && errno == EINTR);
}

struct Working {
  int done_fd;
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
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = write(slot.begin_fd.load(), &one, sizeof one);
  }
  return count > 0;
}

void wait_for_work(int signal) {
  const pid_t process = getpid(), thread = gettid();
  const int64_t begin = now_ms();
  for (const Slot &slot : slots)
    if (slot.process.load() == process && slot.worker.load() == thread) return;
  // Before the slots are read: see the destructor.
  int none = 0;
  ending.compare_exchange_strong(none, signal);
  // The work may end with giving back the slot.
  std::array<Working, slots.size()> working;
  size_t count = 0;
  for (const Slot &slot : slots) {
    if (slot.process.load() != process) continue;
    working[count++] = {slot.done_fd.load(), begin + slot.patience_ms.load()};
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = write(slot.begin_fd.load(), &one, sizeof one);
  }
  for (size_t i = 0; i < count; ++i) wait_until_readable(working[i].done_fd, working[i].end);
}

}  // namespace

void end_by_fatal_signal(int signal) noexcept {
  if (std::find(fatal_signals.begin(), fatal_signals.end(), signal) == fatal_signals.end()) return;
  // A thread that is stopped here may hold a lock that the work needs.
  if (is_asynchronous(signal)) {
    if (leave_it_to_others(signal)) return;
  } else {
    wait_for_work(signal);
  }
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  raise(signal);  // arrives when the handler returns
}

FatalSignalHook::FatalSignalHook(const Wake &begin, const Wake &done,
                                 std::chrono::milliseconds patience) {
  const std::lock_guard guard(mutex);
  const pid_t self = getpid();
  const auto free = std::find_if(slots.begin(), slots.end(),
                                 [&](const Slot &slot) { return slot.process.load() != self; });
  if (free == slots.end())
    throw Error(Code::full, "watching for the end of this process: " +
                                std::to_string(slots.size()) + " watch for it already");
  for (const int signal : fatal_signals)
    if (is_unhandled(signal)) handled_.emplace_back(signal);
  slot_ = static_cast<size_t>(free - slots.begin());
  free->begin_fd.store(begin.fd());
  free->done_fd.store(done.fd());
  free->patience_ms.store(patience.count());
  free->worker.store(0);
  free->process.store(self);
}

// The handler announces the end and then reads the slots; here it is the other way round. So where
// it may still use the wakes, signal() says so afterwards.
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
