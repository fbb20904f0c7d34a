#pragma once

#include <chrono>
#include <filesystem>

#include "core/base/file.h"
#include "core/engine/waking.h"

namespace det::engine {

// Has a FIFO of its own in `directory` while it waits, where there can be one.
class FifoListener : public Listener {
 public:
  // `heard`: whether those who write to the store are on this machine.
  FifoListener(const std::filesystem::path &directory, bool heard,
               std::chrono::milliseconds recheck);
  ~FifoListener() override;
  void wait(std::chrono::milliseconds limit) override;

 private:
  std::filesystem::path path_;
  KnownFd fifo_;
  std::chrono::milliseconds pause_;
  std::chrono::milliseconds longest_pause_;
};

// Wakes all who have one there.
void wake_fifo_listeners(const std::filesystem::path &directory);

}  // namespace det::engine
