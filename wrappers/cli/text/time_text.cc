#include "wrappers/cli/text/time_text.h"

#include <charconv>
#include <ctime>
#include <optional>

#include "wrappers/cli/exit_code.h"

namespace det::cli {

namespace {

constexpr double longest = 1e9;  // seconds: as good as for ever

std::optional<double> seconds_in(const std::string &text) {
  double number = 0;
  const char *const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  const std::string name(unit, end);
  const double seconds = name.empty() || name == "s" ? 1
                         : name == "m"               ? 60
                         : name == "h"               ? 3600
                         : name == "d"               ? 86400
                                                     : 0;
  return seconds == 0 ? std::nullopt : std::optional(std::min(number * seconds, longest));
}

std::string written(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return text;
}

}  // namespace

std::chrono::milliseconds parse_duration(const std::string &text) {
  if (const auto seconds = seconds_in(text))
    return std::chrono::milliseconds(static_cast<int64_t>(*seconds * 1000));
  throw Failure(ExitCode::usage,
                "'" + text + "' is not a duration: write seconds, or 90s, 10m, 2h, 1d");
}

std::string parse_since(const std::string &text) {
  if (const auto seconds = seconds_in(text))
    return written(std::time(nullptr) - static_cast<std::time_t>(*seconds));
  std::string plain = text;
  if (plain.ends_with('Z')) plain.pop_back();
  if (plain.size() > 10 && plain[10] == ' ') plain[10] = 'T';
  for (const char *format : {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"}) {
    std::tm parts{};
    const char *end = strptime(plain.c_str(), format, &parts);
    if (end && *end == '\0') return written(timegm(&parts));
  }
  throw Failure(ExitCode::usage, "'" + text +
                                     "' is not a time: write 2026-01-31 12:00, in UTC, or how long "
                                     "ago: 90s, 10m, 2h, 1d");
}

}  // namespace det::cli
