#include "core/trial/cache/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <thread>
#include <vector>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/json.h"

namespace det::trial {

namespace fs = std::filesystem;

namespace {

// Network file systems lock only what is open for writing. Who may not write can wait at least for
// another user's writer.
Fd open_lock(const fs::path &path) try {
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
  for (storage::KeptFile &file : storage_->files()->list(directory_))
    if (file.path == cache_file_name) return std::move(file);
  return std::nullopt;
}

bool CacheBucket::put(const fs::path &file) try {
  storage_->files()->put_new(directory_ + "/" + std::string(cache_file_name), file);
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
  storage_->files()->read(directory_, ranges);
}

namespace {

constexpr size_t buffer_size = size_t{1} << 20U;

}  // namespace

// Whoever has the lock is the only one. What a writer that was killed has left may be of another
// user, and goes.
CacheWriter::CacheWriter(CacheLock lock, const fs::path &directory, CacheIdentity identity,
                         std::unique_ptr<CacheBucket> bucket)
    : lock_(std::move(lock)),
      bucket_(std::move(bucket)),
      path_(directory / cache_file_name),
      aside_(cache_path_aside(directory)),
      identity_(std::move(identity)),
      file_((unlink(aside_.c_str()), open_file(aside_, O_WRONLY | O_CREAT | O_EXCL))) {
  buffer_.reserve(buffer_size);
  buffer_ = cache_mark();
}

CacheWriter::~CacheWriter() {
  if (state_ != State::done) unlink(aside_.c_str());
}

void CacheWriter::begin() {
  if (state_ != State::open)
    throw Error(Code::state, "writing the cached data set '" + path_.string() + "': " +
                                 (state_ == State::done ? "it is complete already"
                                                        : "it failed before; free its writer"));
  state_ = State::failed;
}

void CacheWriter::add(std::string_view record) {
  begin();
  const uint64_t start = index_.count() == 0 ? CacheIndex::begin : index_.ends.back();
  index_.ends.push_back(start + record.size());
  index_.checksums.push_back(crc32c(record));
  if (buffer_.size() + record.size() > buffer_size) flush();
  if (record.size() >= buffer_size) write_all(file_.get(), record, aside_.string());
  else buffer_ += record;
  state_ = State::open;
}

void CacheWriter::flush() {
  write_all(file_.get(), buffer_, aside_.string());
  buffer_.clear();
}

void CacheWriter::commit(const std::string &metadata) {
  begin();
  flush();
  write_all(file_.get(), cache_tail(index_, identity_, metadata), aside_.string());
  if (fsync(file_.get()) != 0) OsFailure{errno}.raise("syncing '" + aside_.string() + "'");
  if (bucket_ && !bucket_->put(aside_)) {
    unlink(aside_.c_str());  // open_cache() brings the other one
    state_ = State::done;
    return;
  }
  if (rename(aside_.c_str(), path_.c_str()) != 0)
    OsFailure{errno}.raise("renaming to '" + path_.string() + "'");
  state_ = State::done;
  sync_directory(path_.parent_path());
}

namespace {

// None while another one has it.
CacheLock try_lock_cache(const fs::path &directory) {
  const fs::path path = directory / cache_lock_name;
  Fd file = open_lock(path);
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return {};
    if (errno != EINTR) OsFailure{errno}.raise("locking '" + path.string() + "'");
  }
  return CacheLock(std::move(file));
}

// For another process, a little longer each time.
class CacheWait {
 public:
  // No limit: as long as it takes.
  explicit CacheWait(std::optional<std::chrono::milliseconds> limit) : limit_(limit) {}

  // Throws Code::timeout, naming `path`.
  void pause(const fs::path &path);

 private:
  using Clock = std::chrono::steady_clock;

  const std::optional<std::chrono::milliseconds> limit_;
  const Clock::time_point start_ = Clock::now();
  std::chrono::milliseconds next_{1};
};

void CacheWait::pause(const fs::path &path) {
  if (limit_ && Clock::now() - start_ >= *limit_)
    throw Error(Code::timeout,
                "waiting for '" + path.string() +
                    "': another process is still writing it; wait for longer, or end that one");
  std::this_thread::sleep_for(next_);
  next_ = std::min(2 * next_, std::chrono::milliseconds(100));
}

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
