#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace det {

// Whether `text` is well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

// `text` with U+FFFD in place of each byte that keeps it from being well-formed.
std::string to_utf8(std::string_view text);

// Takes one character off the front of `text`, which is not empty. Answers -1, taking one byte,
// where it is not well-formed.
int32_t take_character(std::string_view &text) noexcept;

}  // namespace det
