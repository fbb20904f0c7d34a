#include "core/base/process/environment.h"

#include <charconv>
#include <cstdlib>

#include "core/base/error.h"

namespace det {

std::string environment_variable(const char *name) {
  const char *value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::optional<int64_t> environment_integer(const char *name) {
  const std::string text = environment_variable(name);
  if (text.empty()) return std::nullopt;
  int64_t value = 0;
  const char *end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end)
    throw Error(Code::invalid, std::string("reading the variable ") + name + "='" + text +
                                   "': expected an integer");
  return value;
}

}  // namespace det
