#include "wrappers/nn/weights/regularizer.h"

#include "core/base/error.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/configuration/named_config.h"

namespace det::nn {

Regularizer make_regularizer(const Json &config, const std::string &where) {
  if (config.is_null()) return {};
  const NamedConfig named = named_config(config, "the regularizer of " + where);
  const std::string kind = folded_name(named.name);
  if (kind != "l1" && kind != "l2" && kind != "l1l2")
    throw Error(Code::invalid, "reading " + where + ": there is no regularizer '" + named.name +
                                   "'" + suggestion(named.name, {"l1", "l2", "l1_l2"}));
  Fields fields(named.config, "the regularizer " + named.name + " of " + where);
  const auto amount = [&](const char *key) { return static_cast<float>(fields.number(key, 0.01)); };
  Regularizer made;
  if (kind != "l2") made.l1 = amount("l1");
  if (kind != "l1") made.l2 = amount("l2");
  fields.finish();
  return made;
}

}  // namespace det::nn
