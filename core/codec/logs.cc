#include "core/codec/logs.h"

#include <algorithm>
#include <array>

namespace det::codec {

void ShipTaskLogs::fields(Fields &f) {
  static constexpr std::array<std::string_view, 7> levels{
      "LOG_LEVEL_UNSPECIFIED", "LOG_LEVEL_TRACE", "LOG_LEVEL_DEBUG",   "LOG_LEVEL_INFO",
      "LOG_LEVEL_WARNING",     "LOG_LEVEL_ERROR", "LOG_LEVEL_CRITICAL"};
  f("logs", lines);
  for (const LogLine &line : lines)
    if (line.level && std::ranges::find(levels, *line.level) == levels.end())
      f.refuse("logs.level", "must be one of LOG_LEVEL_INFO, ...");
}

}  // namespace det::codec
