#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace det {

// A background thread with a name, which takes no signals: those are for the host's threads.
template <class F>
std::thread start_thread(const char *name, F &&body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::forward<F>(body));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread.native_handle(), name);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace det
