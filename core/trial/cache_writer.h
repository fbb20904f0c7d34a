// Writes a cached data set that nobody sees before it is whole.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/trial/cache_bucket.h"
#include "core/trial/cache_file.h"
#include "core/trial/cache_lock.h"

namespace det::trial {

// Of one thread at a time. Without commit() nothing is left of it.
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

}  // namespace det::trial
