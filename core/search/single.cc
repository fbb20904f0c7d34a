#include "core/search/single.h"

#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/search/exact.h"

namespace det::search {

namespace {

Json resolve(const Json &value, const std::string &path) {
  if (!value.is_object()) return value;
  if (!value.contains("type")) {
    Json group = Json::object();
    for (const auto &[name, child] : value.items()) group[name] = resolve(child, path + "." + name);
    return group;
  }
  if (value.at("type") == "const" && value.contains("val")) return value.at("val");
  throw Error(Code::invalid, "reading the configuration: " + path + " is a search space (type " +
                                 value.at("type").dump() +
                                 "); start it with `det run`, or give hparams_json");
}

}  // namespace

uint64_t single_length(const Json &config) {
  const Json searcher = config.is_object() ? config.value("searcher", Json()) : Json();
  Json length = searcher.is_object() ? searcher.value("max_length", Json()) : Json();
  if (length.is_object()) length = length.empty() ? Json() : *length.begin();
  if (length.is_null()) return 1;
  const double number = length.is_number() ? length.get<double>() : -1;
  if (!(number >= 0 && number <= largest_exact) || std::floor(number) != number)
    throw Error(Code::invalid, "reading the configuration: searcher.max_length is " +
                                   to_wire(length) +
                                   "; give a whole number that is not negative, or one like "
                                   "{\"batches\": 100}");
  return static_cast<uint64_t>(number);
}

Json constant_hparams(const Json &config) {
  const Json hyperparameters =
      config.is_object() ? config.value("hyperparameters", Json()) : Json();
  if (hyperparameters.is_null()) return Json::object();
  if (!hyperparameters.is_object())
    throw Error(Code::invalid, "reading the configuration: hyperparameters is " +
                                   std::string(hyperparameters.type_name()) +
                                   "; give an object like {\"lr\": 0.1}");
  Json resolved = Json::object();
  for (const auto &[name, value] : hyperparameters.items())
    resolved[name] = resolve(value, "hyperparameters." + name);
  return resolved;
}

}  // namespace det::search
