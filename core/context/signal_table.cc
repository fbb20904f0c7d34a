#include "core/context/signal_table.h"

#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/error.h"

namespace det {

namespace {

struct Installed {
  int uses = 0;
  struct sigaction before {};
};
std::array<Installed, NSIG> installed;  // written under `installed_mutex`
std::mutex installed_mutex;
std::atomic<int> running_handlers{0};

bool is_default(const struct sigaction &action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

// False: by default, the system does it.
bool call_handler_before(int signal, siginfo_t *info, void *context) {
  const struct sigaction &before = installed[static_cast<size_t>(signal)].before;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    if (before.sa_sigaction != nullptr) before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler == SIG_DFL) {
    return false;
  } else if (before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
  return true;
}

void handle(int signal, siginfo_t *info, void *context) {
  const int saved_errno = errno;
  running_handlers.fetch_add(1);
  const bool wanted = tell_signal_hooks(signal);
  const bool handled = call_handler_before(signal, info, context) || wanted;
  running_handlers.fetch_sub(1);
  if (!handled) end_by_fatal_signal(signal);
  errno = saved_errno;
}

}  // namespace

HandledSignal::HandledSignal(int signal) : signal_(signal) {
  if (signal <= 0 || signal >= NSIG)
    throw Error(Code::invalid,
                "handling signal " + std::to_string(signal) + ": there is no such signal");
  const std::lock_guard guard(installed_mutex);
  Installed &entry = installed[static_cast<size_t>(signal)];
  if (entry.uses == 0) {
    struct sigaction ours {};
    ours.sa_sigaction = handle;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    if (sigaction(signal, nullptr, &entry.before) != 0 || sigaction(signal, &ours, nullptr) != 0)
      OsFailure{errno}.raise("handling signal " + std::to_string(signal) + " (" +
                             strsignal(signal) + ")");
  }
  ++entry.uses;
}

HandledSignal::~HandledSignal() {
  const std::lock_guard guard(installed_mutex);
  Installed &entry = installed[static_cast<size_t>(signal_)];
  if (--entry.uses > 0) return;
  // Somebody who installed a handler after us chains to ours: leave theirs in place.
  struct sigaction now {};
  sigaction(signal_, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handle)
    sigaction(signal_, &entry.before, nullptr);
}

bool is_unhandled(int signal) {
  const std::lock_guard guard(installed_mutex);
  const Installed &entry = installed[static_cast<size_t>(signal)];
  struct sigaction now = entry.before;
  return (entry.uses > 0 || sigaction(signal, nullptr, &now) == 0) && is_default(now);
}

void wait_for_running_handlers() {
  while (running_handlers.load() > 0) std::this_thread::yield();
}

}  // namespace det
