// Passes callables to C as callbacks. No exception passes through C. If a callback throws on a
// thread that called the library, thrown_by_callback() keeps the exception. If a log callable
// throws, its owner gets the exception later.
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

// A log callable that the library and its core or client share.
class LogSink {
 public:
  explicit LogSink(LogCallback log) : log_(std::move(log)) {}

  void take(const det_log_line &line) const { log_(LogLine(line)); }

  void keep(const std::exception_ptr &thrown) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (thrown_ == nullptr) thrown_ = thrown;
  }

  // Throws the first kept exception, once.
  void rethrow() {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::exception_ptr thrown = std::exchange(thrown_, nullptr);
    lock.unlock();
    if (thrown != nullptr) std::rethrow_exception(thrown);
  }

 private:
  LogCallback log_;
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

#ifdef __cpp_exceptions
inline namespace throwing {
#else
inline namespace nonthrowing {
#endif

// Calls `body`, and `on_exception` if it throws.
template <class Body, class OnException>
auto guarded(Body &&body, OnException &&on_exception) noexcept {
#ifdef __cpp_exceptions
  try {
    return body();
  } catch (...) {
    return on_exception(std::current_exception());
  }
#else
  static_cast<void>(on_exception);
  return body();
#endif
}

// Returns the answer of `body`, or `otherwise` if it throws. The caller of the library then gets
// the exception.
template <class Body>
int32_t answered(int32_t otherwise, Body &&body) noexcept {
  return guarded(std::forward<Body>(body), [&](std::exception_ptr thrown) {
    thrown_by_callback() = std::move(thrown);
    return otherwise;
  });
}

// Makes options of C call tell() of `callbacks`, which must not move.
template <class Options, class Callbacks>
void set_progress(Options &options, Callbacks &callbacks) {
  options.user_data = &callbacks;
  if (callbacks.progress)
    options.progress = [](const det_progress *progress, void *self) noexcept {
      return answered(-1, [&] { return static_cast<Callbacks *>(self)->tell(*progress) ? 0 : -1; });
    };
}

// Makes options of C call selector() and tell() of `callbacks`, which must not move.
template <class Options, class Callbacks>
void set_callbacks(Options &options, Callbacks &callbacks) {
  set_progress(options, callbacks);
  if (callbacks.selector)
    options.selector = [](const char *path, void *self) noexcept {
      return answered(-1, [&] { return static_cast<Callbacks *>(self)->selector(path) ? 1 : 0; });
    };
}

// Sends the lines of a core or client with these `options` to `log`, if there is one.
template <class Options>
std::shared_ptr<LogSink> send_log(const LogCallback &log, Options &options) {
  if (!log) return nullptr;
  using Shared = std::shared_ptr<LogSink>;
  auto sink = std::make_shared<LogSink>(log);
  options.log = [](const det_log_line *line, void *user_data) noexcept {
    LogSink &receiver = **static_cast<Shared *>(user_data);
    guarded([&] { receiver.take(*line); },
            [&](const std::exception_ptr &thrown) { receiver.keep(thrown); });
  };
  options.log_destroy = [](void *user_data) noexcept { delete static_cast<Shared *>(user_data); };
  options.log_user_data = new Shared(sink);
  return sink;
}

}  // namespace throwing or nonthrowing
}  // namespace detail
}  // namespace v1
}  // namespace det
