// Writes a cached data set that nobody sees before it is whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/trial/cache_file.h"

namespace det::trial {

// Of one thread at a time. Without commit() nothing is left of it.
class CacheWriter {
 public:
  // `lock` is that of the directory; it is held until the writer is gone.
  CacheWriter(Fd lock, const std::filesystem::path &directory, CacheIdentity identity);
  CacheWriter(const CacheWriter &) = delete;
  CacheWriter &operator=(const CacheWriter &) = delete;
  ~CacheWriter();

  // After a failure there is nothing to do but to give up.
  void add(std::string_view record);

  // Durable, and there for all others. `metadata` is the caller's.
  void commit(const std::string &metadata);

 private:
  enum class State { open, failed, done };

  void begin();  // a change, which has failed until it is done
  void flush();

  Fd lock_;
  const std::filesystem::path path_;
  const std::filesystem::path aside_;  // what is written, until it is whole
  const CacheIdentity identity_;
  Fd file_;
  State state_ = State::open;
  CacheIndex index_;
  std::string buffer_;  // what is not written yet
};

}  // namespace det::trial
