#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det {

// Microseconds since 1970 in UTC.
int64_t now_us();

// ISO-8601 in UTC with microseconds: 2026-01-31T12:00:00.000001+00:00.
std::string iso8601(int64_t time_us);

// Microseconds since 1970 of such a time, also with another offset, with Z, and with any number of
// decimals or none (those beyond microseconds are dropped). None for any other text.
std::optional<int64_t> parse_iso8601(std::string_view text);

}  // namespace det
