#include "core/trial/cache_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/trial/cache_file.h"

namespace det::trial {

namespace {

// Network file systems lock only what is open for writing. Who may not write can wait at least for
// another user's writer.
Fd open_lock(const std::filesystem::path &path) try {
  return open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
} catch (const Error &error) {
  if (error.os_errno != EACCES) throw;
  return open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

}  // namespace

// A child may have the descriptor for a moment still.
CacheLock::~CacheLock() {
  if (file_) flock(file_.get(), LOCK_UN);
}

CacheLock try_lock_cache(const std::filesystem::path &directory) {
  const std::filesystem::path path = directory / cache_lock_name;
  Fd file = open_lock(path);
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return {};
    if (errno != EINTR) OsFailure{errno}.raise("locking '" + path.string() + "'");
  }
  return CacheLock(std::move(file));
}

void CacheWait::pause(const std::filesystem::path &path) {
  if (limit_ && Clock::now() - start_ >= *limit_)
    throw Error(Code::timeout,
                "waiting for '" + path.string() +
                    "': another process is still writing it; wait for longer, or end that one");
  std::this_thread::sleep_for(next_);
  next_ = std::min(2 * next_, std::chrono::milliseconds(100));
}

}  // namespace det::trial
