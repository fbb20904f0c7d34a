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

namespace det::context {

namespace {

// A handler has no argument of ours, so what it needs lives here: the one global of the library,
// empty unless an option asked for signals. Everything the handler reads is atomic.
struct HookSlot {
  std::atomic<int> signal{0};
  std::atomic<int> wake_fd{-1};
  std::atomic<bool> raised{false};
};
std::array<HookSlot, 64> hook_slots;

std::array<std::atomic<int>, NSIG> print_stack;
std::mutex slots_mutex;  // of taking slots

void print_stack_of_this_thread() {
  static constexpr char title[] = "detcore: stack of the interrupted thread:\n";
  std::array<void *, 64> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  [[maybe_unused]] const ssize_t put = write(STDERR_FILENO, title, sizeof title - 1);
  backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

}  // namespace

bool tell_signal_hooks(int signal) noexcept {
  bool wanted = false;
  for (HookSlot &slot : hook_slots) {
    if (slot.signal.load() != signal) continue;
    wanted = true;
    slot.raised.store(true);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = write(slot.wake_fd.load(), &one, sizeof one);
  }
  if (print_stack[static_cast<size_t>(signal)].load() == 0) return wanted;
  print_stack_of_this_thread();
  return true;
}

SignalHook::SignalHook(int signal, const Wake &wake) : handled_(signal), slot_(-1) {
  const std::lock_guard guard(slots_mutex);
  for (size_t i = 0; i < hook_slots.size() && slot_ < 0; ++i)
    if (hook_slots[i].signal.load() == 0) slot_ = static_cast<int>(i);
  if (slot_ < 0)
    throw Error(Code::full, "handling signal " + std::to_string(signal) + ": " +
                                std::to_string(hook_slots.size()) + " are handled already");
  HookSlot &slot = hook_slots[static_cast<size_t>(slot_)];
  slot.raised.store(false);
  slot.wake_fd.store(wake.fd());
  slot.signal.store(signal);
}

SignalHook::~SignalHook() {
  hook_slots[static_cast<size_t>(slot_)].signal.store(0);
  // A handler that saw the slot may still be about to write to the wake, which closes after us.
  wait_for_running_handlers();
}

bool SignalHook::raised() const noexcept {
  return hook_slots[static_cast<size_t>(slot_)].raised.load();
}

SignalHooks::SignalHooks(const std::vector<int> &signals) {
  for (const int signal : signals) hooks_.push_back(std::make_unique<SignalHook>(signal, wake_));
}

const SignalHook *SignalHooks::raised() const noexcept {
  const auto found =
      std::find_if(hooks_.begin(), hooks_.end(), [](const auto &hook) { return hook->raised(); });
  return found != hooks_.end() ? found->get() : nullptr;
}

StackTraceHook::StackTraceHook(int signal) : handled_(signal) {
  std::array<void *, 1> frame;
  backtrace(frame.data(), 1);  // loads what it needs now, since a handler must not allocate
  print_stack[static_cast<size_t>(signal)].fetch_add(1);
}

StackTraceHook::~StackTraceHook() {
  print_stack[static_cast<size_t>(handled_.signal())].fetch_sub(1);
}

}  // namespace det::context
