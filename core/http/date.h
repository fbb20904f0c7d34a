// Times in headers: "Sun, 06 Nov 1994 08:49:37 GMT".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace det::http {

// The time in a header (Date, Last-Modified), in seconds since 1970; nothing where there is none.
std::optional<int64_t> parse_date(const std::string &text);

// Whatever the locale.
std::string write_date(int64_t seconds);

}  // namespace det::http
