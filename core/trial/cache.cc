#include "core/trial/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "core/base/crc32c.h"
#include "core/base/error.h"

namespace det::trial {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// Where others write too, a FIFO of this name must not make us wait.
std::unique_ptr<Cache> find_cache(const fs::path &path, const CacheIdentity &identity) {
  try {
    return std::make_unique<Cache>(open_file(path, O_RDONLY | O_NONBLOCK), path, identity);
  } catch (const Error &error) {
    if (error.os_errno == ENOENT) return nullptr;
    throw;
  }
}

// Network file systems lock only what is open for writing. Who may not write can wait at least for
// another user's writer.
Fd open_lock(const fs::path &path) try {
  return open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
} catch (const Error &error) {
  if (error.os_errno != EACCES) throw;
  return open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

// Locked by one writer at a time.
Fd try_lock(const fs::path &path) {
  Fd file = open_lock(path);
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Fd();
    if (errno != EINTR) OsFailure{errno}.raise("locking '" + path.string() + "'");
  }
  return file;
}

}  // namespace

Cache::Cache(Fd file, fs::path path, const CacheIdentity &identity)
    : file_(std::move(file)),
      path_(std::move(path)),
      contents_(read_cache_contents(file_, path_, identity)) {
  for (size_t i = 0; i < index().count(); ++i)
    largest_ = std::max<size_t>(largest_, index().size(i));
}

void Cache::read(size_t first, size_t last, char *into) const {
  const uint64_t begin = index().start(first);
  read_at(file_, path_, into, index().ends[last] - begin, begin);
  for (size_t i = first; i <= last; ++i) {
    const std::string_view record(into + (index().start(i) - begin), index().size(i));
    if (crc32c(record) != index().checksums[i])
      refuse_cache(path_, "record " + std::to_string(i) + " is damaged");
  }
}

OpenedCache open_cache(const fs::path &root, const CacheIdentity &identity,
                       std::optional<std::chrono::milliseconds> limit) {
  const fs::path directory = cache_directory(root, identity);
  const fs::path path = directory / cache_file_name;
  const Clock::time_point start = Clock::now();
  auto pause = std::chrono::milliseconds(1);
  for (;;) {
    if (auto cache = find_cache(path, identity)) return {std::move(cache), nullptr};
    make_directories(directory);
    if (Fd lock = try_lock(directory / cache_lock_name)) {
      // Another one may have written it since.
      if (auto cache = find_cache(path, identity)) return {std::move(cache), nullptr};
      return {nullptr, std::make_unique<CacheWriter>(std::move(lock), directory, identity)};
    }
    if (limit && Clock::now() - start >= *limit)
      throw Error(Code::timeout,
                  "waiting for '" + path.string() +
                      "': another process is still writing it; wait for longer, or end that one");
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(100));
  }
}

}  // namespace det::trial
