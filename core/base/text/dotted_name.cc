#include "core/base/text/dotted_name.h"

#include "core/base/json.h"

namespace det {

namespace {

void each_below(const Json &object, const std::string &prefix, const TakeDotted &take) {
  if (!object.is_object()) return;
  for (auto it = object.begin(); it != object.end(); ++it) {
    const std::string name = prefix + it.key();
    if (it->is_object() && !it->empty()) each_below(*it, name + ".", take);
    else take(name, *it);
  }
}

}  // namespace

const Json *find_by_dotted_name(const Json &object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  if (const auto it = object.find(name); it != object.end()) return &*it;
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    const auto it = object.find(name.substr(0, dot));
    if (it == object.end()) continue;
    if (const Json *found = find_by_dotted_name(*it, name.substr(dot + 1))) return found;
  }
  return nullptr;
}

void each_dotted_name(const Json &object, const TakeDotted &take) { each_below(object, "", take); }

}  // namespace det
