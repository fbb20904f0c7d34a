#include "wrappers/nn/named_config.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "wrappers/nn/near_name.h"

namespace det::nn {

NamedConfig named_config(const Json &given, const std::string &what) {
  if (given.is_string()) return {given.get<std::string>(), "", Json::object()};
  const bool is_named =
      given.is_object() && given.contains("class_name") && given["class_name"].is_string();
  if (!is_named)
    throw Error(Code::invalid, "reading " + what +
                                   ": it is neither a name nor an object with a "
                                   "\"class_name\" and a \"config\": " +
                                   to_wire(given).substr(0, 60));
  NamedConfig named{given["class_name"].get<std::string>(), "", Json::object()};
  if (const auto module = given.find("module"); module != given.end() && module->is_string())
    named.module = module->get<std::string>();
  if (const auto config = given.find("config"); config != given.end() && !config->is_null())
    named.config = *config;
  return named;
}

std::string folded_name(const std::string &name) {
  std::string folded;
  for (const char letter : name)
    if (letter != '_')
      folded += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return folded;
}

void refuse_name(const std::string &name, const std::string &what,
                 const std::vector<std::string> &names) {
  throw Error(Code::invalid, "compiling a model: there is no " + what + " '" + name + "'" +
                                 suggestion(name, names));
}

}  // namespace det::nn
