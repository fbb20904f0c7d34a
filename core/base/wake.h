// Wakes threads. Setting is async-signal-safe.
#pragma once

#include <poll.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "core/base/file.h"

namespace det {

// For threads that wait in poll(2). A host that closes descriptors which are not its own does no
// more than make it slow: nothing is written to what has the number afterwards, and poll() looks
// every second.
class Wake {
 public:
  Wake();
  int fd() const { return fd_.number(); }  // readable while set
  void set() const noexcept;
  void clear() const noexcept;
  bool is_set() const noexcept { return is_set_.load(); }

  // Waits until it is set, `second` is, one of `others` is ready, or `limit` is over; whether it is
  // set. A wake is given as `second`, since the host may have closed its fd().
  bool poll(std::span<pollfd> others, std::chrono::milliseconds limit,
            const Wake *second = nullptr) const;
  bool poll(std::chrono::milliseconds limit) const { return poll({}, limit); }

 private:
  bool is_set_by(pollfd &watched) const noexcept;

  KnownFd fd_;
  mutable std::atomic<bool> is_set_{false};
};

// For threads that wait for nothing else.
class Flags {
 public:
  void set(uint32_t flags) noexcept;
  // Until one of them is set, or `limit` is over; those that are.
  uint32_t wait(std::chrono::milliseconds limit) const noexcept;
  uint32_t wait() const noexcept;

 private:
  std::atomic<uint32_t> flags_{0};
};

}  // namespace det
