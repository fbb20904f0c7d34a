#include "core/trial/cache_bucket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::trial {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t request_size = uint64_t{16} << 20U;  // several at a time

uint64_t size_of(const Fd &file, const fs::path &path) {
  struct stat found {};
  if (fstat(file.get(), &found) != 0) OsFailure{errno}.raise("looking at '" + path.string() + "'");
  return S_ISREG(found.st_mode) ? static_cast<uint64_t>(found.st_size) : 0;
}

std::string last_bytes(const Fd &file, const fs::path &path, uint64_t size) {
  std::string bytes(cache_trailer_size, '\0');
  read_at(file, path, bytes.data(), bytes.size(), size - bytes.size());
  return bytes;
}

// Nothing of it is there before and after.
class Aside {
 public:
  explicit Aside(const fs::path &path) : path_(path) { clear(); }
  Aside(const Aside &) = delete;
  Aside &operator=(const Aside &) = delete;
  ~Aside() { unlink(path_.c_str()); }

  void clear() {
    if (unlink(path_.c_str()) != 0 && errno != ENOENT)
      OsFailure{errno}.raise("removing '" + path_.string() + "'");
  }

 private:
  const fs::path path_;
};

std::string location_of(const storage::Storage &storage) {
  const Json config = storage.config();
  const std::string kind = config.value("type", ""), bucket = config.value("bucket", "");
  const std::string prefix = config.contains("prefix") ? config.value("prefix", "") : "";
  return (kind == "gcs" ? "gs" : kind) + "://" + (fs::path(bucket) / prefix).string();
}

}  // namespace

CacheBucket::CacheBucket(std::shared_ptr<storage::Storage> storage, CacheIdentity identity)
    : storage_(std::move(storage)),
      identity_(std::move(identity)),
      directory_(cache_directory("/", identity_).relative_path().string()),
      name_(location_of(*storage_) + "/" + directory_ + "/" + std::string(cache_file_name)) {
  if (!storage_->directory().empty())
    throw Error(Code::invalid, "opening a cached data set: the storage '" +
                                   storage_->directory().string() +
                                   "' is no bucket; give that directory as the one of data sets");
}

std::optional<storage::KeptFile> CacheBucket::find() {
  for (storage::KeptFile &file : storage_->list_files(directory_))
    if (file.path == cache_file_name) return std::move(file);
  return std::nullopt;
}

bool CacheBucket::put(const fs::path &file) try {
  storage_->put_new_file(directory_ + "/" + std::string(cache_file_name), file);
  return true;
} catch (const Error &error) {
  if (error.code != Code::conflict) throw;
  return false;
}

bool CacheBucket::fetch(const fs::path &path, const fs::path &aside) {
  Aside cleared(aside);
  for (std::optional<storage::KeptFile> found = find(), now; found; found = std::move(now)) {
    if (found->size < cache_trailer_size) refuse_cache(name_, "it is too short");
    if (is_same(path, aside, found->size)) return true;
    read(aside, 0, found->size - cache_trailer_size);
    now = find();
    if (now && now->version == found->version) {
      const Fd file = open_file(aside, O_RDWR);
      read_cache_contents(file, name_, identity_);
      if (fsync(file.get()) != 0) OsFailure{errno}.raise("syncing '" + aside.string() + "'");
      if (rename(aside.c_str(), path.c_str()) != 0)
        OsFailure{errno}.raise("renaming to '" + path.string() + "'");
      sync_directory(path.parent_path());
      return true;
    }
    cleared.clear();  // another one was put in its place meanwhile
  }
  return false;
}

// By size and trailer, which tells of every byte by its checksums. Leaves the trailer in `aside`.
bool CacheBucket::is_same(const fs::path &path, const fs::path &aside, uint64_t size) {
  read(aside, size - cache_trailer_size, size);
  const std::string theirs = last_bytes(open_file(aside, O_RDONLY), name_, size);
  try {
    const Fd file = open_file(path, O_RDONLY | O_NONBLOCK);
    return size_of(file, path) == size && last_bytes(file, path, size) == theirs;
  } catch (const Error &error) {
    if (error.os_errno != ENOENT) throw;
    return false;
  }
}

void CacheBucket::read(const fs::path &into, uint64_t begin, uint64_t end) {
  std::vector<storage::KeptRange> ranges;
  for (uint64_t at = begin; at < end; at += request_size)
    ranges.push_back({std::string(cache_file_name), at, std::min(request_size, end - at), into});
  storage_->read_files(directory_, ranges);
}

}  // namespace det::trial
