#include "core/base/clock.h"

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
  char day[32];
  strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string digits = std::to_string(1'000'000 + micros).substr(1);
  return std::string(day) + "." + digits + "+00:00";
}

}  // namespace det
