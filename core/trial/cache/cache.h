// A data set in a file, made by the first who asks for it and read by all others.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/file.h"
#include "core/base/process/unshared_fd.h"
#include "core/storage/storage.h"
#include "core/trial/cache/cache_file.h"

namespace det::trial {

// The lock of a data set's directory. Whoever has it may write there; it ends with the process.
class CacheLock {
 public:
  CacheLock() = default;  // none
  explicit CacheLock(Fd file) : file_(std::move(file)) {}
  CacheLock(CacheLock &&) noexcept = default;
  CacheLock &operator=(CacheLock &&) noexcept = default;
  CacheLock(const CacheLock &) = delete;
  CacheLock &operator=(const CacheLock &) = delete;
  ~CacheLock();

  explicit operator bool() const { return static_cast<bool>(file_); }

 private:
  UnsharedFd file_;
};

// Where in a bucket a data set is kept, of which each machine has a copy.
class CacheBucket {
 public:
  // Throws Code::invalid for a storage that is no bucket.
  CacheBucket(std::shared_ptr<storage::Storage> storage, CacheIdentity identity);

  // The file is there whole, or not at all. False: another machine was faster, and its file stays.
  bool put(const std::filesystem::path &file);

  // Makes `path` what the bucket has, unless it is already; `aside` is used meanwhile, and may be
  // there. False: the bucket has none, whatever is at `path`. Only with the lock of the directory.
  // Throws Code::corrupt, naming the object.
  bool fetch(const std::filesystem::path &path, const std::filesystem::path &aside);

 private:
  std::optional<storage::KeptFile> find();
  bool is_same(const std::filesystem::path &path, const std::filesystem::path &aside,
               uint64_t size);
  void read(const std::filesystem::path &into, uint64_t begin, uint64_t end);

  const std::shared_ptr<storage::Storage> storage_;
  const CacheIdentity identity_;
  const std::string directory_;       // below the prefix of the storage
  const std::filesystem::path name_;  // for messages
};

// Writes a data set that nobody sees before it is whole. Of one thread at a time. Without commit()
// nothing is left of it.
class CacheWriter {
 public:
  // `lock` is that of the directory; it is held until the writer is gone. With a bucket, what is
  // written is there as well.
  CacheWriter(CacheLock lock, const std::filesystem::path &directory, CacheIdentity identity,
              std::unique_ptr<CacheBucket> bucket = nullptr);
  CacheWriter(const CacheWriter &) = delete;
  CacheWriter &operator=(const CacheWriter &) = delete;
  ~CacheWriter();

  // After a failure there is nothing to do but to give up.
  void add(std::string_view record);

  // Durable, and there for all others. `metadata` is the caller's. Where another machine has put
  // its file into the bucket meanwhile, that one is there.
  void commit(const std::string &metadata);

 private:
  enum class State { open, failed, done };

  void begin();  // a change, which has failed until it is done
  void flush();

  const CacheLock lock_;
  const std::unique_ptr<CacheBucket> bucket_;  // null: none
  const std::filesystem::path path_;
  const std::filesystem::path aside_;  // what is written, until it is whole
  const CacheIdentity identity_;
  Fd file_;
  State state_ = State::open;
  CacheIndex index_;
  std::string buffer_;  // what is not written yet
};

// A complete one; of any thread.
class Cache {
 public:
  Cache(Fd file, std::filesystem::path path, const CacheIdentity &identity);

  const CacheIndex &index() const { return contents_.index; }
  const std::string &metadata() const { return contents_.metadata; }
  size_t largest() const { return largest_; }

  // Reads records `first` to `last`, which stand one after the other, and checks them. Throws
  // Code::corrupt, naming the file and the record.
  void read(size_t first, size_t last, char *into) const;

 private:
  const Fd file_;
  const std::filesystem::path path_;
  const CacheContents contents_;
  size_t largest_ = 0;
};

// One of the two: a data set that is there, or what writes it.
struct OpenedCache {
  std::unique_ptr<Cache> cache;
  std::unique_ptr<CacheWriter> writer;
};

// Waits while another process writes it; takes over from one that is gone. No limit: as long as it
// takes. Throws Code::timeout.
OpenedCache open_cache(const std::filesystem::path &root, const CacheIdentity &identity,
                       std::optional<std::chrono::milliseconds> limit);

// The same of a data set in a bucket: what is below `root` is this machine's copy of it, and is
// brought or replaced where it is not that. Writers of several machines do not wait for each other;
// the file of the first one stays. Throws also as the storage does.
OpenedCache open_cache(std::shared_ptr<storage::Storage> storage, const std::filesystem::path &root,
                       const CacheIdentity &identity,
                       std::optional<std::chrono::milliseconds> limit);

}  // namespace det::trial
