#include "core/tensorboard/event_queue.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/thread.h"

namespace det::tensorboard {

EventQueue::EventQueue(std::shared_ptr<EventFile> file, std::shared_ptr<Logger> logger,
                       Options options)
    : file_(std::move(file)), logger_(std::move(logger)), options_(std::move(options)) {}

EventQueue::~EventQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EventQueue::wake() {
  if (!thread_.joinable()) thread_ = start_thread("det-events", [this] { run(); });
  asleep_ = false;
  woken_.notify_all();
}

void EventQueue::wait_for_room(std::unique_lock<std::mutex> &lock, size_t size) {
  hurried_ = true;
  woken_.notify_all();
  const bool in_time = written_.wait_for(lock, options_.wait, [&] {
    return pending_.empty() || pending_.size() + size <= options_.limit_bytes;
  });
  if (!in_time)
    throw Error(Code::full, "adding an event: " + std::to_string(pending_.size()) +
                                " bytes of events wait to be written, and the disk took none "
                                "within " +
                                std::to_string(options_.wait.count()) +
                                " ms; try again, or add fewer");
}

void EventQueue::flush(std::optional<std::chrono::milliseconds> limit) {
  std::unique_lock lock(mutex_);
  const uint64_t target = added_;
  hurried_ = true;
  woken_.notify_all();
  const auto is_there = [&] { return taken_care_ >= target; };
  if (!limit) written_.wait(lock, is_there);
  else if (!written_.wait_for(lock, *limit, is_there))
    throw Error(Code::timeout,
                "writing TensorBoard events: they are not all in their file within " +
                    std::to_string(limit->count()) + " ms");
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr))
    std::rethrow_exception(failure);
}

bool EventQueue::finish(std::chrono::milliseconds limit) noexcept {
  try {
    flush(limit);
    return true;
  } catch (const Error &e) {
    if (e.code == Code::timeout) logger_->warning(e.what());
    return false;  // else the warning is there
  } catch (const std::exception &) {
    return false;
  }
}

void EventQueue::run() {
  std::unique_lock lock(mutex_);
  std::string events;
  auto last = std::chrono::steady_clock::now();
  while (!ending_ || !pending_.empty()) {
    if (pending_.empty() && std::chrono::steady_clock::now() - last > options_.idle) {
      asleep_ = true;
      woken_.wait(lock, [this] { return !asleep_ || ending_; });
      last = std::chrono::steady_clock::now();
    }
    woken_.wait_for(lock, options_.interval, [this] { return hurried_ || ending_; });
    hurried_ = false;
    if (pending_.empty()) continue;
    events.swap(pending_);
    lock.unlock();
    write(events);
    last = std::chrono::steady_clock::now();
    lock.lock();
    taken_care_ += events.size();
    events.clear();
    // What one large event took is not kept.
    if (events.capacity() > options_.limit_bytes) events.shrink_to_fit();
    written_.notify_all();
  }
}

void EventQueue::write(std::string_view events) noexcept {
  try {
    file_->append(events);
    warned_ = false;
    if (options_.written) options_.written();
  } catch (const std::exception &e) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    if (!std::exchange(warned_, true))
      logger_->warning(std::string(e.what()) + "; TensorBoard misses " +
                       std::to_string(events.size()) + " bytes of events that were added");
  }
}

}  // namespace det::tensorboard
