#include "core/base/clock.h"

#include <algorithm>
#include <charconv>
#include <ctime>

namespace det {

int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}

std::string iso8601(int64_t time_us) {
  int64_t micros = time_us % 1'000'000;
  if (micros < 0) micros += 1'000'000;
  const time_t seconds = static_cast<time_t>((time_us - micros) / 1'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::string text = std::to_string(1900L + parts.tm_year);
  const auto add = [&text](char before, int two_digits) {
    for (const int c : {int{before}, '0' + two_digits / 10, '0' + two_digits % 10})
      text += static_cast<char>(c);
  };
  add('-', parts.tm_mon + 1);
  add('-', parts.tm_mday);
  add('T', parts.tm_hour);
  add(':', parts.tm_min);
  add(':', parts.tm_sec);
  text += '.';
  for (int64_t unit = 100'000; unit > 0; unit /= 10)
    text += static_cast<char>('0' + micros / unit % 10);
  return text += "+00:00";
}

namespace {

// The number that all of `digits` make, or -1.
int number(std::string_view digits) {
  for (const char c : digits)
    if (c < '0' || c > '9') return -1;
  int value = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// "Z" or "+hh:mm", in seconds.
std::optional<int64_t> offset(std::string_view text) {
  if (text == "Z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hours = number(text.substr(1, 2));
  const int minutes = number(text.substr(4, 2));
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

}  // namespace

std::optional<int64_t> parse_iso8601(std::string_view text) {
  constexpr size_t day_size = std::string_view("2026-01-31T12:00:00").size();
  if (text.size() <= day_size) return std::nullopt;
  tm parts{};
  parts.tm_year = number(text.substr(0, 4)) - 1900;
  parts.tm_mon = number(text.substr(5, 2)) - 1;
  parts.tm_mday = number(text.substr(8, 2));
  parts.tm_hour = number(text.substr(11, 2));
  parts.tm_min = number(text.substr(14, 2));
  parts.tm_sec = number(text.substr(17, 2));
  const int64_t seconds = timegm(&parts);
  // Punctuation and ranges are right where the same text comes back.
  if (iso8601(seconds * 1'000'000).substr(0, day_size) != text.substr(0, day_size))
    return std::nullopt;
  text.remove_prefix(day_size);
  int micros = 0;
  if (text[0] == '.') {
    const size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
    if (end == 1) return std::nullopt;
    micros = number((std::string(text.substr(1, end - 1)) + "00000").substr(0, 6));
    text.remove_prefix(end);
  }
  const auto shift = offset(text);
  if (!shift) return std::nullopt;
  return (seconds - *shift) * 1'000'000 + micros;
}

}  // namespace det
