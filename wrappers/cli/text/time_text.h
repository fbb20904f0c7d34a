// Times and spans of time as people write them.
#pragma once

#include <chrono>
#include <string>

namespace det::cli {

// "90", "90s", "10m", "2h", "1.5d". Throws Failure (usage).
std::chrono::milliseconds parse_duration(const std::string &text);

// As the library writes times, to the second: from "2026-01-31", "2026-01-31 12:00",
// "2026-01-31T12:00:00Z", in UTC, or a span of time before now. Throws Failure (usage).
std::string parse_since(const std::string &text);

}  // namespace det::cli
