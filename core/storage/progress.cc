#include "core/storage/progress.h"

#include <utility>

namespace det::storage {

namespace {
thread_local Progress *of_this_thread = nullptr;
}

Progress::Progress(Callback callback)
    : callback_(std::move(callback)),
      outer_(std::exchange(of_this_thread, this)),
      told_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { of_this_thread = outer_; }

Progress *Progress::current() noexcept { return of_this_thread; }

void Progress::add_bytes(uint64_t bytes) {
  bytes_ += bytes;
  if (of_this_thread == this && std::chrono::steady_clock::now() - told_ >= interval) tell();
}

void Progress::tell() {
  callback_({bytes_, total_bytes_, files_, total_files_});
  told_ = std::chrono::steady_clock::now();
}

void wait_for(Pool &pool, Buffer &own, Progress *progress) {
  if (progress == nullptr) return pool.wait(own);
  const auto tell = [progress] { progress->tell(); };
  pool.wait(own, Progress::interval, tell);
  tell();
}

}  // namespace det::storage
