#include "core/base/process/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "core/base/error.h"

namespace det {

ForkGuard::ForkGuard() {
  const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void *page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) OsFailure{errno}.raise("mapping a page");
  // Linux 4.14. Where it is missing, a forked child is simply not recognised.
  madvise(page, size, MADV_WIPEONFORK);
  page_ = new (page) std::atomic<int>(1);
}

ForkGuard::~ForkGuard() { munmap(page_, static_cast<size_t>(sysconf(_SC_PAGESIZE))); }

ForkMutex::ForkMutex() noexcept {
  static const int registered = pthread_atfork(lock_all, unlock_all, unlock_all);
  static_cast<void>(registered);  // without memory a child may wait for a thread that it lacks
  before_ = last_.load();
  while (!last_.compare_exchange_weak(before_, this)) {
  }
}

void ForkMutex::lock_all() {
  for (ForkMutex *mutex = last_.load(); mutex != nullptr; mutex = mutex->before_) mutex->lock();
}

void ForkMutex::unlock_all() {
  for (ForkMutex *mutex = last_.load(); mutex != nullptr; mutex = mutex->before_) mutex->unlock();
}

}  // namespace det
