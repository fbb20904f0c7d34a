// The lock of a data set's directory. Whoever has it may write there; it ends with the process.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "core/base/unshared_fd.h"

namespace det::trial {

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

// None while another one has it.
CacheLock try_lock_cache(const std::filesystem::path &directory);

// For another process, a little longer each time.
class CacheWait {
 public:
  // No limit: as long as it takes.
  explicit CacheWait(std::optional<std::chrono::milliseconds> limit) : limit_(limit) {}

  // Throws Code::timeout, naming `path`.
  void pause(const std::filesystem::path &path);

 private:
  using Clock = std::chrono::steady_clock;

  const std::optional<std::chrono::milliseconds> limit_;
  const Clock::time_point start_ = Clock::now();
  std::chrono::milliseconds next_{1};
};

}  // namespace det::trial
