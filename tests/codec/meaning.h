// Whether two JSON bodies mean the same to a master: names in either case, null as left out, times
// in any offset.
#pragma once

#include <cctype>
#include <string>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "tests/cmocka.h"

namespace det::codec {

inline std::string in_one_case(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

inline bool is_empty(const Json &value) {
  return value.is_null() || value == Json(false) || value == Json(0) || value == Json("") ||
         (value.is_structured() && value.empty());
}

inline Json meaning(const Json &value) {
  if (value.is_string()) {
    const auto time = parse_iso8601(value.get_ref<const std::string &>());
    return time ? Json(*time) : value;
  }
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json &item : value) list.push_back(meaning(item));
    return list;
  }
  if (!value.is_object()) return value;
  nlohmann::json sorted = nlohmann::json::object();
  for (auto it = value.begin(); it != value.end(); ++it) {
    // A master takes a log line's rank in "rank_id"; "rank" means nothing to it.
    if (it.value().is_null() || it.value() == Json::array() || it.key() == "rank") continue;
    sorted[in_one_case(it.key())] = nlohmann::json::parse(meaning(it.value()).dump());
  }
  return Json::parse(sorted.dump());
}

inline void assert_same_meaning(const Json &ours, const Json &theirs) {
  const Json a = meaning(ours);
  const Json b = meaning(theirs);
  if (a != b) fail_msg("%s\ninstead of %s", a.dump().c_str(), b.dump().c_str());
}

// All of `ours` is in `theirs`, or empty and not there.
inline void assert_part_of_meaning(const Json &ours, const Json &theirs) {
  const Json a = meaning(ours);
  const Json b = meaning(theirs);
  if (!a.is_object() || !b.is_object()) {
    if (a.is_array() && b.is_array() && a.size() == b.size())
      for (size_t i = 0; i < a.size(); ++i) assert_part_of_meaning(a[i], b[i]);
    else if (a != b) fail_msg("%s\ninstead of %s", a.dump().c_str(), b.dump().c_str());
    return;
  }
  for (auto it = a.begin(); it != a.end(); ++it) {
    if (b.contains(it.key())) assert_part_of_meaning(it.value(), b[it.key()]);
    else if (!is_empty(it.value())) fail_msg("%s is not in the recorded answer", it.key().c_str());
  }
}

}  // namespace det::codec
