// Ownership of what the C API hands out.
#pragma once

#include <det/base.hpp>

#include <memory>
#include <string>

namespace det {
inline namespace v1 {
namespace detail {

template <auto release>
struct Release {
  template <class T>
  void operator()(T *handle) const noexcept {
    release(handle);
  }
};

template <class T, auto release>
using Handle = std::unique_ptr<T, Release<release>>;

// A copy of a text that the library gave, which is released.
inline std::string taken(char *text) {
  const Handle<char, det_free> owned(text);
  return text != nullptr ? std::string(text) : std::string();
}

inline const char *null_if_empty(const std::string &text) noexcept {
  return text.empty() ? nullptr : text.c_str();
}

}  // namespace detail
}  // namespace v1
}  // namespace det
