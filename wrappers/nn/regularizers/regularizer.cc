#include "wrappers/nn/regularizers/regularizer.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/keras_fields.h"
#include "wrappers/nn/near_name.h"

namespace det::nn {

Regularizer make_regularizer(const Json &config, const std::string &where) {
  if (config.is_null()) return {};
  const bool is_object = config.is_object() && config.contains("class_name");
  const Json &named = is_object ? config["class_name"] : config;
  const std::string name = named.is_string() ? named.get<std::string>() : to_wire(config);
  const Json none = Json::object();
  Fields fields(is_object && config.contains("config") ? config["config"] : none,
                "the regularizer " + name + " of " + where);
  const auto amount = [&](const char *key) { return static_cast<float>(fields.number(key, 0.01)); };
  Regularizer made;
  if (name == "L1" || name == "l1") {
    made.l1 = amount("l1");
  } else if (name == "L2" || name == "l2") {
    made.l2 = amount("l2");
  } else if (name == "L1L2" || name == "l1_l2") {
    made = {amount("l1"), amount("l2")};
  } else {
    throw Error(Code::invalid, "reading " + where + ": there is no regularizer '" + name + "'" +
                                   suggestion(name, {"l1", "l2", "l1_l2", "L1", "L2", "L1L2"}));
  }
  fields.finish();
  return made;
}

}  // namespace det::nn
