// Callables as the callbacks of C. No exception crosses it: what one throws on a thread that called
// the library waits in thrown_by_callback(); what a log callable throws waits for its owner to ask.
#pragma once

#include <det/checkpoint.h>
#include <det/error.hpp>
#include <det/log.hpp>

#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace det {
inline namespace v1 {
namespace detail {
#ifdef __cpp_exceptions
inline namespace throwing {
#else
inline namespace nonthrowing {
#endif

// What `body` answers, or `otherwise` when it throws.
template <class Body>
int32_t guarded(int32_t otherwise, Body &&body) noexcept {
#ifdef __cpp_exceptions
  try {
    return body();
  } catch (...) {
    thrown_by_callback() = std::current_exception();
    return otherwise;
  }
#else
  static_cast<void>(otherwise);
  return body();
#endif
}

// For C, the callables of `self`, which has them as selector() and tell().
template <class Self>
int32_t select(const char *path, void *self) noexcept {
  return guarded(-1, [&] { return static_cast<Self *>(self)->selector(path) ? 1 : 0; });
}
template <class Self>
int32_t tell(const det_progress *progress, void *self) noexcept {
  return guarded(-1, [&] { return static_cast<Self *>(self)->tell(*progress) ? 0 : -1; });
}

// A log callable that the library and its core or client share.
class LogSink {
 public:
  explicit LogSink(LogCallback log) : log_(std::move(log)) {}

  // Throws the first exception of the callable, once.
  void rethrow() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (thrown_ == nullptr) return;
    const std::exception_ptr thrown = std::exchange(thrown_, nullptr);
    lock.unlock();
    std::rethrow_exception(thrown);
  }

  static void receive(const det_log_line *line, void *user_data) noexcept {
    LogSink &sink = **static_cast<std::shared_ptr<LogSink> *>(user_data);
#ifdef __cpp_exceptions
    try {
      sink.log_(LogLine(*line));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(sink.mutex_);
      if (sink.thrown_ == nullptr) sink.thrown_ = std::current_exception();
    }
#else
    sink.log_(LogLine(*line));
#endif
  }

  static void release(void *user_data) noexcept {
    delete static_cast<std::shared_ptr<LogSink> *>(user_data);
  }

 private:
  LogCallback log_;
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

// Lets the lines of a core or client, made with `options`, go to `log`. Nothing where it is empty.
template <class Options>
std::shared_ptr<LogSink> send_log(const LogCallback &log, Options &options) {
  if (!log) return nullptr;
  auto sink = std::make_shared<LogSink>(log);
  options.log = LogSink::receive;
  options.log_destroy = LogSink::release;
  options.log_user_data = new std::shared_ptr<LogSink>(sink);
  return sink;
}

}  // namespace throwing or nonthrowing
}  // namespace detail
}  // namespace v1
}  // namespace det
