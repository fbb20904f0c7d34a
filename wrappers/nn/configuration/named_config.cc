#include "wrappers/nn/configuration/named_config.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "core/base/error.h"

namespace det::nn {

namespace {

// Letters to insert, to leave out or to change.
size_t distance(std::string_view one, std::string_view other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < one.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < other.size(); ++j) {
      const size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view wrong, const std::vector<std::string> &names) {
  // What is no longer than a few words is cheap to compare.
  const std::string_view compared = wrong.substr(0, 64);
  const std::string *nearest = nullptr;
  size_t least = 0;
  for (const std::string &name : names) {
    const size_t letters = distance(compared, name);
    if (nearest == nullptr || letters < least) {
      nearest = &name;
      least = letters;
    }
  }
  if (nearest != nullptr && least <= std::max<size_t>(2, nearest->size() / 3))
    return "; did you mean '" + *nearest + "'?";
  std::string text = "; there are ";
  for (const std::string &name : names)
    text += (&name == &names.front() ? "'" : ", '") + name + "'";
  return text;
}

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
