#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace det::http {

// The time in a header (Date, Last-Modified), in seconds since 1970; nothing where there is none.
std::optional<int64_t> parse_date(const std::string &text);

}  // namespace det::http
