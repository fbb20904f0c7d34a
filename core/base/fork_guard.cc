#include "core/base/fork_guard.h"

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

}  // namespace det
