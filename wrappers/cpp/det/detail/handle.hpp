// Owns the handles of the C API.
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

// Copies a text that the library returned, and releases it.
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
