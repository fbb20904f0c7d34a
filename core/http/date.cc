#include "core/http/date.h"

#include <array>
#include <cstdio>
#include <ctime>

#include "core/http/http_library.h"

namespace det::http {

std::optional<int64_t> parse_date(const std::string &text) {
  const std::time_t time = curl().getdate(text.c_str(), nullptr);
  if (time == -1) return std::nullopt;
  return static_cast<int64_t>(time);
}

std::string write_date(int64_t seconds) {
  constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s, %02d %s %d %02d:%02d:%02d GMT",
                days.at(static_cast<size_t>(utc.tm_wday)), utc.tm_mday,
                months.at(static_cast<size_t>(utc.tm_mon)), utc.tm_year + 1900, utc.tm_hour,
                utc.tm_min, utc.tm_sec);
  return text.data();
}

}  // namespace det::http
