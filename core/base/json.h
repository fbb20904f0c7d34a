// JSON in and out. Objects keep the order of their keys.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/json_fwd.h"

// That of the library allocates, so that any nesting can be taken apart; but it is called by
// destructors, where a failed allocation ends the process, and ours is never that deep.
template <>
void nlohmann::ordered_json::json_value::destroy(value_t type);
template <>
void nlohmann::json::json_value::destroy(value_t type);

// Those of the library copy the text behind a noexcept, where a failed allocation ends the process.
namespace nlohmann {
inline bool operator==(const ordered_json &value, const char *text) {
  return value.is_string() && value.get_ref<const std::string &>() == text;
}
inline bool operator!=(const ordered_json &value, const char *text) { return !(value == text); }
}  // namespace nlohmann

namespace det {

// Parses `text`; `what` names it in errors ("config_json"). Understands bare NaN, Infinity and
// -Infinity, as Python writes them. Throws Code::invalid, also for nesting deeper than 128.
Json parse_json(std::string_view text, const std::string &what);

// As parse_json(), and throws Code::invalid unless the value is an object.
Json parse_json_object(std::string_view text, const std::string &what);

// One line, as the master takes it: non-finite numbers become "NaN", "Infinity", "-Infinity".
std::string to_wire(const Json &value);

// The layout of metadata.json: two spaces of indent, non-ASCII escaped, numbers in the shortest
// form that reads back the same, non-finite numbers bare. No newline at the end.
std::string to_metadata_text(const Json &value);

// A compact form for messages between our own processes: strings may hold any bytes, and numbers
// that are not finite stay what they are. unpack() throws Code::corrupt; `what` as for
// parse_json().
std::string pack(const Json &value);
Json unpack(std::string_view bytes, const std::string &what);

// As the erase() of an object, which leaves it in pieces where there is no memory.
void erase_key(Json &object, std::string_view key);

// Appends a double in the shortest form that reads back the same, always with a point or exponent:
// 1.0, 0.1, 1e-05, 1e+16. Non-finite: NaN, Infinity, -Infinity.
void append_number(std::string &out, double value);

}  // namespace det
