// A call that fails throws det::Error, or fills the det::Failure that it got.
#pragma once

#include <det/error.h>
#include <det/base.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

namespace det {
inline namespace v1 {

enum class Code : det_status {
  ok = DET_OK,
  done = DET_DONE,
  preempted = DET_PREEMPTED,
  internal = DET_E_INTERNAL,
  no_memory = DET_E_NOMEM,
  invalid = DET_E_INVALID,
  not_found = DET_E_NOT_FOUND,
  io = DET_E_IO,
  timeout = DET_E_TIMEOUT,
  callback = DET_E_CALLBACK,
  unsupported = DET_E_UNSUPPORTED,
  state = DET_E_STATE,
  access = DET_E_ACCESS,
  corrupt = DET_E_CORRUPT,
  full = DET_E_FULL,
  busy = DET_E_BUSY,
  conflict = DET_E_CONFLICT,
  unavailable = DET_E_UNAVAILABLE,
  http = DET_E_HTTP,
};

// Returns a name such as "DET_E_NOT_FOUND".
[[nodiscard]] inline const char *status_name(Code code) noexcept {
  return det_status_name(static_cast<det_status>(code));
}

class DET_API Error : public std::runtime_error {
 public:
  explicit Error(const det_error &error)
      : std::runtime_error(error.message),
        code_(static_cast<Code>(error.code)),
        os_errno_(error.os_errno),
        http_status_(error.http_status),
        retryable_(error.retryable != 0) {}

  [[nodiscard]] Code code() const noexcept { return code_; }
  [[nodiscard]] int os_errno() const noexcept { return os_errno_; }        // 0: no system call
  [[nodiscard]] int http_status() const noexcept { return http_status_; }  // 0: no answer
  // True if the same call may succeed a little later.
  [[nodiscard]] bool retryable() const noexcept { return retryable_; }

 private:
  Code code_;
  int os_errno_;
  int http_status_;
  bool retryable_;
};

// Holds the error of a call, for programs that do not catch exceptions. Each call with a Failure
// clears or fills it, as <filesystem> does with a std::error_code.
class Failure {
 public:
  [[nodiscard]] explicit operator bool() const noexcept { return error_.code < 0; }

  [[nodiscard]] Code code() const noexcept { return static_cast<Code>(error_.code); }
  [[nodiscard]] int os_errno() const noexcept { return error_.os_errno; }
  [[nodiscard]] int http_status() const noexcept { return error_.http_status; }
  [[nodiscard]] bool retryable() const noexcept { return error_.retryable != 0; }
  [[nodiscard]] const char *message() const noexcept { return error_.message; }

  void clear() noexcept {
    if (error_.code != DET_OK) error_ = DET_ERROR_INIT;
  }
  void fill(const det_error &error) noexcept { error_ = error; }
  [[nodiscard]] const det_error &capi() const noexcept { return error_; }

 private:
  det_error error_ = DET_ERROR_INIT;
};

namespace detail {

// The exception that a callback threw on this thread, until the call that it failed has returned.
inline std::exception_ptr &thrown_by_callback() noexcept {
  thread_local std::exception_ptr thrown;
  return thrown;
}

}  // namespace detail

// Code with exceptions and code without them may be in one program. So parts that differ have
// separate names.
#ifdef __cpp_exceptions
inline namespace throwing {
#else
inline namespace nonthrowing {
#endif

// The last parameter of every call that can fail. Without it, the call throws. With a Failure, the
// call fills it and returns an empty value. An exception of a callback is thrown in both cases.
class OnFailure {
 public:
#ifdef __cpp_exceptions
  OnFailure() noexcept = default;
#else
  [[gnu::error("exceptions are off: hand this call a det::Failure")]] OnFailure() noexcept;
#endif
  OnFailure(Failure &failure) noexcept : failure_(&failure) {}

  void succeeded() const noexcept {
    if (failure_ != nullptr) failure_->clear();
  }

  void failed(const det_error &error) const {
#ifdef __cpp_exceptions
    if (detail::thrown_by_callback() != nullptr)
      std::rethrow_exception(std::exchange(detail::thrown_by_callback(), nullptr));
    if (failure_ == nullptr) throw Error(error);
#endif
    failure_->fill(error);
  }

 private:
  Failure *failure_ = nullptr;
};

}  // namespace throwing or nonthrowing

namespace detail {

// Calls a function of the C API whose last parameter is a det_error, and returns its status.
template <class Function, class... Arguments>
det_status call(OnFailure on, Function *function, Arguments... arguments) {
  det_error error;  // filled by a failure; otherwise not initialised
  error.struct_size = sizeof error;
  const det_status status = function(arguments..., &error);
  if (status < 0) on.failed(error);
  else on.succeeded();
  return status;
}

}  // namespace detail
}  // namespace v1
}  // namespace det
