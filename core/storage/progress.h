// How far the transfers of one call have come, told to whoever asked for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "core/storage/pool.h"

namespace det::storage {

struct ProgressCount {
  uint64_t bytes = 0, total_bytes = 0;
  uint64_t files = 0, total_files = 0;
};

// Counted by all threads of a transfer, told on the one that made it. While it is there, transfers
// that begin on that thread are counted.
class Progress {
 public:
  // What it throws ends the transfer.
  using Callback = std::function<void(const ProgressCount &)>;

  explicit Progress(Callback callback);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress();

  // That of the calling thread; null: nobody asked.
  static Progress *current() noexcept;

  void expect(uint64_t bytes, uint64_t files) {
    total_bytes_ += bytes;
    total_files_ += files;
  }
  // A few times a second this tells, where it is on the thread that is told.
  void add_bytes(uint64_t bytes);
  void add_file() { ++files_; }
  void tell();  // now

  static constexpr std::chrono::milliseconds interval{200};

 private:
  const Callback callback_;
  Progress *const outer_;
  std::atomic<uint64_t> bytes_{0}, total_bytes_{0}, files_{0}, total_files_{0};
  std::chrono::steady_clock::time_point told_;
};

// Works until the tasks of `pool` are done, and tells meanwhile; `progress` may be null.
void wait_for(Pool &pool, Buffer &own, Progress *progress);

}  // namespace det::storage
