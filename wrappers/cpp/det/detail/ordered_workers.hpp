// Threads that make results ahead of their consumer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace det {
inline namespace v1 {
namespace detail {

// Results have the order of their items, whichever thread is done first.
template <class Item, class Made>
class OrderedWorkers {
 public:
  using Take = std::function<std::optional<Item>()>;  // called by one thread at a time
  using Work = std::function<Made(Item)>;             // called by all threads at once

  // At most `room` results are being made or wait at a time.
  OrderedWorkers(Take take, Work work, size_t workers, size_t room)
      : take_(std::move(take)), work_(std::move(work)), results_(room) {
    try {
      for (size_t i = 0; i < workers; ++i) threads_.emplace_back([this] { run(); });
    } catch (...) {
      join();
      throw;
    }
  }
  // Waits for calls that have begun, not for the rest.
  ~OrderedWorkers() { join(); }
  OrderedWorkers(const OrderedWorkers &) = delete;
  OrderedWorkers &operator=(const OrderedWorkers &) = delete;

  // Returns nothing after the last item. If a call threw, this throws its exception in that place.
  // If no item could be taken, no further one is taken.
  [[nodiscard]] std::optional<Made> next() {
    Result result;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      Result &next = results_[given_ % results_.size()];
      has_result_.wait(lock, [&] { return next.is_there || (is_over_ && given_ == taken_); });
      if (!next.is_there) return std::nullopt;
      result = std::exchange(next, {});
      ++given_;
    }
    has_room_.notify_one();
    if (result.failure != nullptr) std::rethrow_exception(result.failure);
    return std::move(result.made);
  }

 private:
  struct Result {
    bool is_there = false;
    Made made = {};
    std::exception_ptr failure = nullptr;
  };

  void run() {
    for (;;) {
      Result result;
      result.is_there = true;
      size_t number = 0;
      if (const std::optional<Item> item = take(number, result.failure)) {
        try {
          result.made = work_(*item);
        } catch (...) {
          result.failure = std::current_exception();
        }
      } else if (result.failure == nullptr) {
        return;
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      results_[number % results_.size()] = std::move(result);
      has_result_.notify_one();
    }
  }

  // Neither an item nor a failure: there is no more work.
  std::optional<Item> take(size_t &number, std::exception_ptr &failure) {
    const std::lock_guard<std::mutex> taking(taking_);
    {
      std::unique_lock<std::mutex> lock(mutex_);
      has_room_.wait(lock, [&] { return is_over_ || taken_ - given_ < results_.size(); });
      if (is_over_) return std::nullopt;
    }
    std::optional<Item> item;
    try {
      item = take_();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    number = taken_;
    if (item || failure != nullptr) ++taken_;
    if (!item) {
      is_over_ = true;
      has_result_.notify_one();
    }
    return item;
  }

  void join() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    has_room_.notify_all();
    for (std::thread &thread : threads_) thread.join();
  }

  Take take_;
  Work work_;
  std::mutex taking_;  // held while an item is taken, before mutex_
  std::mutex mutex_;   // for all members below
  std::condition_variable has_room_, has_result_;
  std::vector<Result> results_;  // that of item i is at i % size
  size_t taken_ = 0, given_ = 0;
  bool is_over_ = false;  // no more items are taken
  std::vector<std::thread> threads_;
};

}  // namespace detail
}  // namespace v1
}  // namespace det
