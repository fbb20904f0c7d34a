#pragma once

#include <cstdint>
#include <string>

namespace det {

// Microseconds since 1970 in UTC.
int64_t now_us();

// ISO-8601 in UTC with microseconds: 2026-01-31T12:00:00.000001+00:00.
std::string iso8601(int64_t time_us);

}  // namespace det
