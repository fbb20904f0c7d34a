#pragma once

#include <string>
#include <string_view>

namespace det {

// Whether `text` is well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

// `text` with U+FFFD in place of each byte that keeps it from being well-formed.
std::string to_utf8(std::string_view text);

}  // namespace det
