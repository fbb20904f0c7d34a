#pragma once

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

namespace det {

namespace detail {
inline thread_local bool thread_of_ours = false;
[[noreturn]] void refuse_thread(const char *name, int os_errno);
}  // namespace detail

// Whether this thread is one of start_thread(), and not the host's.
inline bool is_thread_of_ours() noexcept { return detail::thread_of_ours; }

// A background thread with a name, which takes no signals: those are for the host's threads. Throws
// Code::full where the system has no more threads for us.
template <class F>
std::thread start_thread(const char *name, F &&body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread([body = std::forward<F>(body)]() mutable {
      detail::thread_of_ours = true;
      body();
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread.native_handle(), name);
    return thread;
  } catch (const std::system_error &e) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    detail::refuse_thread(name, e.code().value());
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace det
