// How far the transfers of one call have come, told to whoever asked for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "core/storage/pool.h"

namespace det::storage {

struct ProgressCount {
  uint64_t bytes = 0, total_bytes = 0;
  uint64_t files = 0, total_files = 0;
};

// Counted by all threads of the transfers that it is given to, told on the one that made it.
// Whatever takes one takes null for nobody who asks.
class Progress {
 public:
  // What it throws ends the transfer.
  using Callback = std::function<void(const ProgressCount &)>;

  explicit Progress(Callback callback) : callback_(std::move(callback)) {}
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void expect(uint64_t bytes, uint64_t files) {
    total_bytes_ += bytes;
    total_files_ += files;
  }
  // A few times a second this tells, where it is on the thread that is told.
  void add_bytes(uint64_t bytes) {
    count_bytes(bytes);
    if (std::this_thread::get_id() != told_on_) return;
    if (std::chrono::steady_clock::now() - told_ >= interval) tell();
  }
  void count_bytes(uint64_t bytes) { bytes_ += bytes; }
  void add_file() { ++files_; }
  void tell() {  // now
    callback_({bytes_, total_bytes_, files_, total_files_});
    told_ = std::chrono::steady_clock::now();
  }

  static constexpr std::chrono::milliseconds interval{200};

 private:
  const Callback callback_;
  const std::thread::id told_on_ = std::this_thread::get_id();
  std::atomic<uint64_t> bytes_{0}, total_bytes_{0}, files_{0}, total_files_{0};
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

// Works until the tasks of `pool` are done, and tells meanwhile.
inline void wait_for(Pool &pool, Buffer &own, Progress *progress) {
  if (progress == nullptr) return pool.wait(own);
  const auto tell = [progress] { progress->tell(); };
  pool.wait(own, Progress::interval, tell);
  tell();
}

}  // namespace det::storage
