#include "core/context/process/signals.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/base/process/fork_guard.h"

namespace det::context {

namespace {

// What our handler stands before. Usually that is one; but where somebody has put a handler on top
// that calls ours, ours stays below it when the last hook goes, and the next hook puts it on top
// again: then it is in the chain twice, and each time before another one.
struct Installed {
  static constexpr size_t most = 16;

  std::atomic<int> uses{0};
  std::atomic<int64_t> quiet_until{0};  // in seconds of the monotonic clock; one of the uses then
  std::atomic<size_t> count{0};
  std::array<struct sigaction, most> before{};  // the oldest first; the handler reads it
};
std::array<Installed, NSIG> installed;  // written under `installed_mutex`
ForkMutex installed_mutex;
std::atomic<int> telling_handlers{0};
// Whose hooks there are. In a forked child our handler stands there as before, and does what would
// be done without it, until the child has hooks.
std::atomic<pid_t> process_with_hooks{0};

// A thread in our handler. A chain that comes back to ours is a call inside of that one.
class HandlerCall {
 public:
  explicit HandlerCall(int signal) noexcept {
    const uint64_t key = static_cast<uint64_t>(gettid()) << 8U | static_cast<uint64_t>(signal);
    for (const auto &place : places) depth_ += place.load() == key ? 1 : 0;
    for (auto &place : places) {
      uint64_t none = 0;
      if (!place.compare_exchange_strong(none, key)) continue;
      place_ = &place;
      return;
    }
  }
  ~HandlerCall() {
    if (place_ != nullptr) place_->store(0);
  }
  HandlerCall(const HandlerCall &) = delete;
  HandlerCall &operator=(const HandlerCall &) = delete;

  // How many of ours this one is below; none where nobody would notice if it came back.
  std::optional<size_t> depth() const {
    return place_ != nullptr ? std::optional(depth_) : std::nullopt;
  }

  // Those of the threads of another process.
  static void forget_all() noexcept {
    for (auto &place : places) place.store(0);
  }

 private:
  static inline std::array<std::atomic<uint64_t>, 64> places{};

  size_t depth_ = 0;
  std::atomic<uint64_t> *place_ = nullptr;
};

bool is_default(const struct sigaction &action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

bool is_same_action(const struct sigaction &a, const struct sigaction &b) {
  const bool takes_info = (a.sa_flags & SA_SIGINFO) != 0;
  if (takes_info != ((b.sa_flags & SA_SIGINFO) != 0)) return false;
  return takes_info ? a.sa_sigaction == b.sa_sigaction : a.sa_handler == b.sa_handler;
}

// False: by default, the system does it.
bool call_handler_before(int signal, siginfo_t *info, void *context) {
  const HandlerCall call(signal);
  const Installed &entry = installed[static_cast<size_t>(signal)];
  const size_t count = entry.count.load();
  if (!call.depth() || *call.depth() >= count) return true;
  const struct sigaction before = entry.before[count - 1 - *call.depth()];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    if (before.sa_sigaction != nullptr) before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler == SIG_DFL) {
    return false;
  } else if (before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
  return true;
}

void handle(int signal, siginfo_t *info, void *context);

bool is_ours(const struct sigaction &action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle;
}

bool is_on_top(int signal) noexcept {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && is_ours(now);
}

int64_t now_s() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

void do_by_default(int signal) noexcept {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  raise(signal);  // arrives when the handler returns
}

void handle(int signal, siginfo_t *info, void *context) {
  const int saved_errno = errno;
  if (process_with_hooks.load() != getpid()) {
    if (!call_handler_before(signal, info, context) && is_on_top(signal)) do_by_default(signal);
    errno = saved_errno;
    return;
  }
  telling_handlers.fetch_add(1);
  const Installed &entry = installed[static_cast<size_t>(signal)];
  const bool wanted = tell_signal_hooks(signal) || now_s() < entry.quiet_until.load();
  telling_handlers.fetch_sub(1);
  // The one before may never return: it may end the process.
  const bool handled = call_handler_before(signal, info, context) || wanted;
  // Left behind below another handler, ours has no say.
  const bool decides = entry.uses.load() > 0 || is_on_top(signal);
  if (!handled && decides && !end_by_fatal_signal(signal)) do_by_default(signal);
  errno = saved_errno;
}

// The last to be known is the first to be called.
void put_before(Installed &entry, const struct sigaction &action) {
  const auto begin = entry.before.begin(), end = begin + static_cast<ptrdiff_t>(entry.count.load());
  auto gap =
      std::find_if(begin, end, [&](const auto &known) { return is_same_action(known, action); });
  if (gap == end && entry.count.load() == Installed::most) gap = begin;
  if (gap != end) {
    std::move(gap + 1, end, gap);
    *(end - 1) = action;
  } else {
    *end = action;
    entry.count.fetch_add(1);
  }
}

void take_over_in_child() {
  const pid_t self = getpid();
  if (process_with_hooks.load() == self) return;
  for (Installed &entry : installed) {
    entry.uses.store(0);
    entry.quiet_until.store(0);
  }
  telling_handlers.store(0);
  HandlerCall::forget_all();
  process_with_hooks.store(self);
}

}  // namespace

HandledSignal::HandledSignal(int signal) : signal_(signal), process_(getpid()) {
  if (signal <= 0 || signal >= NSIG)
    throw Error(Code::invalid,
                "handling signal " + std::to_string(signal) + ": there is no such signal");
  const std::lock_guard guard(installed_mutex);
  take_over_in_child();
  Installed &entry = installed[static_cast<size_t>(signal)];
  if (entry.uses.load() == 0) {
    const auto refuse = [&] {
      const int os_errno = errno;  // one of those that no program can handle
      throw Error(Code::invalid,
                  "handling signal " + std::to_string(signal) + " (" + strsignal(signal) +
                      "): " + errno_text(os_errno) + "; choose another one",
                  os_errno);
    };
    struct sigaction now {
    }, ours{};
    ours.sa_sigaction = handle;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    if (sigaction(signal, nullptr, &now) != 0) refuse();
    // Who had put another one on top of ours may have taken it away again.
    if (!is_ours(now)) {
      const size_t count = entry.count.load();
      put_before(entry, now);
      if (sigaction(signal, &ours, nullptr) != 0) {
        entry.count.store(count);
        refuse();
      }
    }
  }
  entry.uses.fetch_add(1);
}

HandledSignal::~HandledSignal() {
  if (process_ != getpid()) return;
  const std::lock_guard guard(installed_mutex);
  Installed &entry = installed[static_cast<size_t>(signal_)];
  if (entry.uses.fetch_sub(1) > 1) return;
  // Somebody who installed a handler after us chains to ours: leave theirs in place, and ours
  // before what it was.
  if (!is_on_top(signal_) || entry.count.load() == 0) return;
  sigaction(signal_, &entry.before[entry.count.load() - 1], nullptr);
  entry.count.fetch_sub(1);
}

void keep_quiet(int signal) noexcept {
  constexpr int64_t seconds = 10;
  const std::lock_guard guard(installed_mutex);
  Installed &entry = installed[static_cast<size_t>(signal)];
  const size_t count = entry.count.load();
  if (count > 0 && !is_default(entry.before[count - 1])) return;  // which is asked
  if (entry.quiet_until.exchange(now_s() + seconds) == 0) entry.uses.fetch_add(1);
}

bool is_unhandled(int signal) {
  const std::lock_guard guard(installed_mutex);
  const Installed &entry = installed[static_cast<size_t>(signal)];
  struct sigaction now {};
  if (sigaction(signal, nullptr, &now) != 0) return false;
  if (!is_ours(now)) return is_default(now);
  const size_t count = entry.count.load();
  return count == 0 || is_default(entry.before[count - 1]);
}

void wait_for_running_handlers() {
  while (telling_handlers.load() > 0) std::this_thread::yield();
}

namespace {

// A handler has no argument of ours, so what it needs lives here: the one global of the library,
// empty unless an option asked for signals. Everything the handler reads is atomic.
struct HookSlot {
  std::atomic<pid_t> process{0};  // 0: free. A forked child has copies of its parent's
  std::atomic<int> signal{0};
  std::atomic<const Wake *> wake{nullptr};  // null: prints the stack
  std::atomic<bool> raised{false};
};
std::array<HookSlot, 64> hook_slots;
ForkMutex slots_mutex;  // of taking slots

HookSlot &slot_at(int index) { return hook_slots[static_cast<size_t>(index)]; }

int take_slot(int signal, const Wake *wake) {
  const std::lock_guard guard(slots_mutex);
  const pid_t self = getpid();
  const auto free = std::find_if(hook_slots.begin(), hook_slots.end(),
                                 [&](const HookSlot &slot) { return slot.process.load() != self; });
  if (free == hook_slots.end())
    throw Error(Code::full, "handling signal " + std::to_string(signal) + ": " +
                                std::to_string(hook_slots.size()) + " are handled already");
  free->raised.store(false);
  free->wake.store(wake);
  free->signal.store(signal);
  free->process.store(self);
  return static_cast<int>(free - hook_slots.begin());
}

void give_back(int index) {
  if (slot_at(index).process.load() != getpid()) return;
  slot_at(index).process.store(0);
  // A handler that saw the slot may still be about to write to the wake, which closes after us.
  wait_for_running_handlers();
}

void print_stack_of_this_thread() {
  static constexpr char title[] = "detcore: stack of the interrupted thread:\n";
  std::array<void *, 64> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  [[maybe_unused]] const ssize_t put = write(STDERR_FILENO, title, sizeof title - 1);
  backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

}  // namespace

bool tell_signal_hooks(int signal) noexcept {
  const pid_t self = getpid();
  bool wanted = false, prints = false;
  for (HookSlot &slot : hook_slots) {
    if (slot.process.load() != self || slot.signal.load() != signal) continue;
    wanted = true;
    slot.raised.store(true);
    if (const Wake *wake = slot.wake.load()) wake->set();
    else prints = true;
  }
  if (prints) print_stack_of_this_thread();
  return wanted;
}

SignalHook::SignalHook(int signal, const Wake &wake)
    : handled_(signal), slot_(take_slot(signal, &wake)) {}

SignalHook::~SignalHook() { give_back(slot_); }

bool SignalHook::raised() const noexcept { return slot_at(slot_).raised.load(); }

SignalHooks::SignalHooks(const std::vector<int> &signals) {
  for (const int signal : signals) hooks_.push_back(std::make_unique<SignalHook>(signal, wake_));
}

const SignalHook *SignalHooks::raised() const noexcept {
  const auto found =
      std::find_if(hooks_.begin(), hooks_.end(), [](const auto &hook) { return hook->raised(); });
  return found != hooks_.end() ? found->get() : nullptr;
}

void SignalHooks::release() {
  for (const auto &hook : hooks_)
    if (hook->raised()) keep_quiet(hook->signal());
  hooks_.clear();
}

StackTraceHook::StackTraceHook(int signal) : handled_(signal), slot_(-1) {
  std::array<void *, 1> frame;
  backtrace(frame.data(), 1);  // loads what it needs now, since a handler must not allocate
  slot_ = take_slot(signal, nullptr);
}

StackTraceHook::~StackTraceHook() { give_back(slot_); }

}  // namespace det::context
