// Sections of a configuration.
#pragma once

#include <det/nlohmann_json.hpp>

#include <string>

namespace det {
inline namespace v1 {
namespace trials {

// The section of an object with a name, without nulls, which count as missing. Empty if there is no
// such section.
[[nodiscard]] inline nlohmann::ordered_json section(const nlohmann::ordered_json &config,
                                                    const std::string &name) {
  nlohmann::ordered_json said = nlohmann::ordered_json::object();
  const auto given = config.find(name);
  if (given == config.end() || !given->is_object()) return said;
  for (const auto &[key, value] : given->items())
    if (!value.is_null()) said[key] = value;
  return said;
}

}  // namespace trials
}  // namespace v1
}  // namespace det
