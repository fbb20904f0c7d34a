#include "core/context/signals.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "core/base/error.h"
#include "core/base/fork_guard.h"

namespace det::context {

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
