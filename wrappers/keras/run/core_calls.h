// The Core API as the trainer uses it: through the C ABI of libdetcore, which keeps all state of a
// run. What a call fails with is thrown as an Error.
#pragma once

#include <det/core.h>
#include <det/trial.h>

#include <memory>
#include <string>

#include "core/base/json.h"

namespace det::keras {

template <auto release>
struct Release {
  template <class T>
  void operator()(T *handle) const noexcept {
    release(handle);
  }
};
template <class T, auto release>
using Handle = std::unique_ptr<T, Release<release>>;

[[noreturn]] void throw_failure(const det_error &error);

// Calls a function that takes a det_error last, and gives its status.
template <class Function, class... Arguments>
det_status call(Function *function, Arguments... arguments) {
  det_error error;  // filled when the call fails
  error.struct_size = sizeof error;
  const det_status status = function(arguments..., &error);
  if (status < 0) throw_failure(error);
  return status;
}

// Calls a function that gives a text in its last parameter.
template <class Function, class... Arguments>
std::string text_of(Function *function, Arguments... arguments) {
  char *text = nullptr;
  call(function, arguments..., &text);
  const Handle<char, det_free> owned(text);
  return text;
}

// On one line; NaN and infinities are bare, as the Core API reads them.
std::string text_with_bare_numbers(const Json &value);

}  // namespace det::keras
