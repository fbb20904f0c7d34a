#include "wrappers/nn/layers/policy.h"

#include <map>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/configuration/named_config.h"

namespace det::nn {

namespace {

constexpr const char *usual_policy = "float32";

const std::map<std::string, Dtype> &policies() {
  static const std::map<std::string, Dtype> all{
      {usual_policy, Dtype::f32}, {"mixed_bfloat16", Dtype::bf16}, {"mixed_float16", Dtype::f16}};
  return all;
}

// Of layers that only pass on what is no real number; and what Keras says where it says nothing.
bool computes_nothing(const std::string &name) {
  return name == "_infer" || name == "bool" || name == "string" || name.starts_with("int") ||
         name.starts_with("uint");
}

std::string policy_name(Fields &fields) {
  const Json &given = fields.any("dtype", usual_policy);
  if (given.is_null()) return usual_policy;
  if (!given.is_object()) return fields.text("dtype", usual_policy);
  for (const char *key : {"class_name", "config"})
    if (!given.contains(key))
      throw Error(Code::invalid,
                  "reading " + fields.where() + ": its policy 'dtype' has no '" + key + "'");
  return Fields(given["config"], "the policy of " + fields.where()).text("name");
}

}  // namespace

Dtype read_policy(Fields &fields) {
  const std::string name = policy_name(fields);
  if (computes_nothing(name)) return Dtype::f32;
  if (name == "float16" || name == "bfloat16" || name == "float64")
    throw Error(Code::unsupported,
                "reading " + fields.where() + ": weights of the type '" + name +
                    "' are not supported; 'mixed_float16' and 'mixed_bfloat16' compute in a type "
                    "of 16 bits with weights in float32");
  const auto known = policies().find(name);
  if (known != policies().end()) return known->second;
  std::vector<std::string> names;
  for (const auto &[policy, dtype] : policies()) names.push_back(policy);
  throw Error(Code::invalid, "reading " + fields.where() + ": there is no policy '" + name + "'" +
                                 suggestion(name, names));
}

Json with_policy_of(Fields &outer, Json config) {
  if (config.is_object() && !config.contains("dtype"))
    config["dtype"] = outer.any("dtype", usual_policy);
  return config;
}

}  // namespace det::nn
