// The base of every other header: the version of the library, and texts and times as arguments.
//
// Everything in det is in an inner namespace. It keeps the names apart from those in a static
// libdetcore, and from those of a later release with other classes.
#pragma once

#if !(__cplusplus >= 201703L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L))
#error "the C++ headers of detcore need C++17: compile with -std=c++17"
#include <this ends the compilation: C++17 is needed>
#endif

#include <det/base.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace det {
inline namespace v1 {

// A text as an argument. It is borrowed for the call. It ends in NUL, which a std::string_view may
// lack.
class Text {
 public:
  constexpr Text() noexcept = default;  // none
  constexpr Text(const char *text) noexcept : text_(text) {}
  Text(const std::string &text) noexcept : text_(text.c_str()) {}

  [[nodiscard]] constexpr const char *c_str() const noexcept { return text_; }

 private:
  const char *text_ = nullptr;
};

// A time limit: a duration, of which 0 means not to wait. By default the call decides.
class Timeout {
 public:
  constexpr Timeout() noexcept = default;
  template <class Number, class Period>
  constexpr Timeout(std::chrono::duration<Number, Period> limit) noexcept
      : milliseconds_(rounded_up(limit)) {}

  [[nodiscard]] static constexpr Timeout infinite() noexcept {
    Timeout timeout;
    timeout.milliseconds_ = DET_TIMEOUT_INFINITE;
    return timeout;
  }

  [[nodiscard]] constexpr det_timeout capi() const noexcept { return milliseconds_; }

 private:
  static constexpr det_timeout rounded_up(std::chrono::duration<double, std::milli> limit) {
    constexpr double longest = 1e15;  // 30,000 years
    if (!(limit.count() > 0)) return DET_TIMEOUT_NONE;
    if (limit.count() > longest) return DET_TIMEOUT_INFINITE;
    const auto whole = static_cast<det_timeout>(limit.count());
    return static_cast<double>(whole) < limit.count() ? whole + 1 : whole;
  }

  det_timeout milliseconds_ = DET_TIMEOUT_DEFAULT;
};

// In UTC. 1970 if neither the library nor a master knows the time.
using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

// The version of the loaded library: major * 1000000 + minor * 1000 + patch.
[[nodiscard]] inline uint32_t version() noexcept { return det_version(); }
[[nodiscard]] inline const char *version_string() noexcept { return det_version_string(); }

[[nodiscard]] inline bool has_feature(Text name) noexcept {
  return det_has_feature(name.c_str()) != 0;
}

}  // namespace v1
}  // namespace det
