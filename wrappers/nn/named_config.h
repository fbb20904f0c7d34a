// What is named by itself, or by a class and its configuration: losses, optimizers and the like.
#pragma once

#include <map>
#include <string>
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

}  // namespace det::nn
