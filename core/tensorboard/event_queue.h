// Events on their way from a training loop to the event file, which a thread of its own writes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/base/log/log.h"
#include "core/tensorboard/event_file.h"

namespace det::tensorboard {

class EventQueue {
 public:
  struct Options {
    size_t limit_bytes = size_t{16} << 20U;   // that may wait; one event alone may be larger
    std::chrono::milliseconds wait{10'000};   // for room
    std::chrono::milliseconds interval{100};  // between writes while events come
    std::chrono::milliseconds idle{5'000};    // without an event: sleep until the next one
    std::function<void()> written = nullptr;  // told on the thread after each write
  };

  EventQueue(std::shared_ptr<EventFile> file, std::shared_ptr<Logger> logger, Options options);
  EventQueue(const EventQueue &) = delete;
  EventQueue &operator=(const EventQueue &) = delete;
  ~EventQueue();  // writes the rest

  // Appends what `encode` does to the text it is given: whole records, about `size` bytes. The
  // thread is woken by the first event in a while alone, so the next ones make no system call.
  // Waits for room when the queue is full; Code::full in vain.
  template <class Encode>
  void add(size_t size, const Encode &encode) {
    std::unique_lock lock(mutex_);
    if (!pending_.empty() && pending_.size() + size > options_.limit_bytes) [[unlikely]]
      wait_for_room(lock, size);
    const size_t before = pending_.size();
    try {
      encode(pending_);
      if (asleep_) [[unlikely]]
        wake();
    } catch (...) {
      pending_.resize(before);
      throw;
    }
    added_ += pending_.size() - before;
  }

  // Waits until every event added before is in the file, without a limit as long as it takes.
  // Throws Code::timeout, and once what kept events from the file.
  void flush(std::optional<std::chrono::milliseconds> limit);

  // The last flush. False: not in time, or events could not be written; a warning told of either.
  bool finish(std::chrono::milliseconds limit) noexcept;

 private:
  void wait_for_room(std::unique_lock<std::mutex> &lock, size_t size);
  void wake();
  void run();
  void write(std::string_view events) noexcept;

  const std::shared_ptr<EventFile> file_;
  const std::shared_ptr<Logger> logger_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable woken_;    // the thread
  std::condition_variable written_;  // those who wait for it
  std::string pending_;
  uint64_t added_ = 0;       // bytes since the beginning
  uint64_t taken_care_ = 0;  // of them written, or lost with a warning
  std::exception_ptr failure_;
  bool asleep_ = true;  // or not begun: the next event has to wake it
  bool hurried_ = false;
  bool ending_ = false;
  bool warned_ = false;
  std::thread thread_;  // from the first event on
};

}  // namespace det::tensorboard
