// Names in configurations: what is named by itself or by a class and its configuration, and the
// name that was probably meant.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"

namespace det::nn {

struct NamedConfig {
  std::string name;    // "adam", or "Adam" of {"class_name": "Adam", "config": {...}}
  std::string module;  // "keras.optimizers.legacy", or empty
  Json config = Json::object();
};

// Throws Code::invalid for what is neither; `what` is "an optimizer".
NamedConfig named_config(const Json &given, const std::string &what);

// Of "MeanSquaredError" and "mean_squared_error" alike "meansquarederror".
std::string folded_name(const std::string &name);

// Throws Code::invalid, with the nearest of the names that there are.
[[noreturn]] void refuse_name(const std::string &name, const std::string &what,
                              const std::vector<std::string> &names);

template <class Map>
std::vector<std::string> keys_of(const Map &map) {
  std::vector<std::string> keys;
  for (const auto &entry : map) keys.push_back(entry.first);
  return keys;
}

// "; did you mean 'softmax'?" for the nearest of `names` that is near enough, else "; there are
// 'a', 'b', ..." with all of them.
std::string suggestion(std::string_view wrong, const std::vector<std::string> &names);

}  // namespace det::nn
