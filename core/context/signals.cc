#include "core/context/signals.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/error.h"

namespace det {

namespace {

// A handler has no argument of ours, so what it needs lives here: the one global of the library,
// empty unless an option asked for signals. Everything the handler reads is atomic.
struct Slot {
  std::atomic<int> signal{0};
  std::atomic<int> wake_fd{-1};
  std::atomic<bool> raised{false};
};
std::array<Slot, 64> slots;

struct Installed {
  int hooks = 0;
  int stack_traces = 0;
  struct sigaction before {};
};
std::array<Installed, NSIG> installed;           // written under `mutex`
std::array<std::atomic<int>, NSIG> print_stack;  // what the handler reads of it
std::mutex mutex;
std::atomic<int> running_handlers{0};

void print_stack_of_this_thread() {
  static constexpr char title[] = "detcore: stack of the interrupted thread:\n";
  std::array<void *, 64> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  [[maybe_unused]] const ssize_t put = write(STDERR_FILENO, title, sizeof title - 1);
  backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

void call_handler_before(int signal, siginfo_t *info, void *context) {
  const struct sigaction &before = installed[static_cast<size_t>(signal)].before;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    if (before.sa_sigaction != nullptr) before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

void handle(int signal, siginfo_t *info, void *context) {
  const int saved_errno = errno;
  running_handlers.fetch_add(1);
  for (Slot &slot : slots) {
    if (slot.signal.load() != signal) continue;
    slot.raised.store(true);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = write(slot.wake_fd.load(), &one, sizeof one);
  }
  if (print_stack[static_cast<size_t>(signal)].load() > 0) print_stack_of_this_thread();
  call_handler_before(signal, info, context);
  running_handlers.fetch_sub(1);
  errno = saved_errno;
}

// Both under `mutex`.
void install(int signal, int Installed::*use) {
  if (signal <= 0 || signal >= NSIG)
    throw Error(Code::invalid,
                "handling signal " + std::to_string(signal) + ": there is no such signal");
  Installed &entry = installed[static_cast<size_t>(signal)];
  if (entry.hooks + entry.stack_traces == 0) {
    struct sigaction ours {};
    ours.sa_sigaction = handle;
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    if (sigaction(signal, nullptr, &entry.before) != 0 || sigaction(signal, &ours, nullptr) != 0)
      throw_errno(errno,
                  "handling signal " + std::to_string(signal) + " (" + strsignal(signal) + ")");
  }
  ++(entry.*use);
}

void uninstall(int signal, int Installed::*use) {
  Installed &entry = installed[static_cast<size_t>(signal)];
  --(entry.*use);
  if (entry.hooks + entry.stack_traces > 0) return;
  // Somebody who installed a handler after us chains to ours: leave theirs in place.
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handle)
    sigaction(signal, &entry.before, nullptr);
}

}  // namespace

SignalHook::SignalHook(int signal, const Wake &wake) : signal_(signal), slot_(-1) {
  const std::lock_guard guard(mutex);
  for (size_t i = 0; i < slots.size() && slot_ < 0; ++i)
    if (slots[i].signal.load() == 0) slot_ = static_cast<int>(i);
  if (slot_ < 0)
    throw Error(Code::full, "handling signal " + std::to_string(signal) + ": " +
                                std::to_string(slots.size()) + " are handled already");
  install(signal, &Installed::hooks);
  Slot &slot = slots[static_cast<size_t>(slot_)];
  slot.raised.store(false);
  slot.wake_fd.store(wake.fd());
  slot.signal.store(signal);
}

SignalHook::~SignalHook() {
  const std::lock_guard guard(mutex);
  slots[static_cast<size_t>(slot_)].signal.store(0);
  uninstall(signal_, &Installed::hooks);
  // A handler that saw the slot may still be about to write to the wake, which closes after us.
  while (running_handlers.load() > 0) std::this_thread::yield();
}

bool SignalHook::raised() const noexcept { return slots[static_cast<size_t>(slot_)].raised.load(); }

StackTraceHook::StackTraceHook(int signal) : signal_(signal) {
  std::array<void *, 1> frame;
  backtrace(frame.data(), 1);  // loads what it needs now, since a handler must not allocate
  const std::lock_guard guard(mutex);
  install(signal, &Installed::stack_traces);
  print_stack[static_cast<size_t>(signal)].fetch_add(1);
}

StackTraceHook::~StackTraceHook() {
  const std::lock_guard guard(mutex);
  print_stack[static_cast<size_t>(signal_)].fetch_sub(1);
  uninstall(signal_, &Installed::stack_traces);
}

}  // namespace det
