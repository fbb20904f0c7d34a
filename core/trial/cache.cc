#include "core/trial/cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/trial/cache_bucket.h"
#include "core/trial/cache_lock.h"

namespace det::trial {

namespace fs = std::filesystem;

namespace {

// Where others write too, a FIFO of this name must not make us wait.
std::unique_ptr<Cache> find_cache(const fs::path &path, const CacheIdentity &identity) {
  try {
    return std::make_unique<Cache>(open_file(path, O_RDONLY | O_NONBLOCK), path, identity);
  } catch (const Error &error) {
    if (error.os_errno == ENOENT) return nullptr;
    throw;
  }
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
  for (CacheWait wait(limit);; wait.pause(path)) {
    if (auto cache = find_cache(path, identity)) return {std::move(cache), nullptr};
    make_directories(directory);
    CacheLock lock = try_lock_cache(directory);
    if (!lock) continue;
    // Another one may have written it since.
    if (auto cache = find_cache(path, identity)) return {std::move(cache), nullptr};
    return {nullptr, std::make_unique<CacheWriter>(std::move(lock), directory, identity)};
  }
}

OpenedCache open_cache(std::shared_ptr<storage::Storage> storage, const fs::path &root,
                       const CacheIdentity &identity,
                       std::optional<std::chrono::milliseconds> limit) {
  const fs::path directory = cache_directory(root, identity);
  const fs::path path = directory / cache_file_name;
  auto bucket = std::make_unique<CacheBucket>(std::move(storage), identity);
  make_directories(directory);
  CacheLock lock;
  for (CacheWait wait(limit); !(lock = try_lock_cache(directory));) wait.pause(path);
  if (bucket->fetch(path, cache_path_aside(directory)))
    return {find_cache(path, identity), nullptr};
  return {nullptr,
          std::make_unique<CacheWriter>(std::move(lock), directory, identity, std::move(bucket))};
}

}  // namespace det::trial
