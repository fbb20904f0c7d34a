// The section `hyperparameters`: constants, ranges to search, and groups of them.
#include "core/config/experiment/check.h"
#include "core/config/experiment/sections.h"
#include "core/config/experiment/transform.h"

namespace det::config {

namespace {

bool is_range(const Json &type) { return type == "int" || type == "double" || type == "log"; }

bool check_hyperparameter(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (!value.is_object()) return false;
  const Json &least = config_member(value, "minval");
  const Json &most = config_member(value, "maxval");
  if (is_range(config_member(value, "type")) && least.is_number() && most.is_number() &&
      least.get<double>() >= most.get<double>())
    checker.report(
        at, "bounds_order",
        "'minval' must be less than 'maxval', found " + least.dump() + " and " + most.dump());
  return true;
}

bool check_values(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (value.empty()) checker.report(at, "rule", "there must be at least one value to choose from");
  return true;
}

Json decode_hyperparameter(Json value) {
  if (value.is_object()) return value;
  Json constant = {{"type", "const"}};
  constant["val"] = std::move(value);
  return constant;
}

// A typed hyperparameter is taken whole, groups are merged.
Json merge_hyperparameter(const ConfigSchema &schema, const Json &first, const Json &second) {
  const bool are_groups = first.is_object() && second.is_object() && !first.contains("type") &&
                          !second.contains("type");
  return are_groups ? merge_objects(schema, first, second) : first;
}

ConfigSchema make_hyperparameter() {
  const auto range = [](const ConfigSchema &bound, std::vector<ConfigField> more) {
    std::vector<ConfigField> fields = {required("minval", bound), required("maxval", bound)};
    fields.insert(fields.end(), more.begin(), more.end());
    fields.push_back(optional("count", integer().at_least(1)));
    return fields;
  };
  ConfigSchema schema =
      choice("type", {optional("type", anything())},
             {{"const", {required("val", anything())}},
              {"int", range(integer(), {})},
              {"double", range(number(), {})},
              {"log", range(number(), {required("base", number().above(0))})},
              {"categorical", {required("vals", list_of(anything()).checked(check_values))}}})
          .checked(check_hyperparameter)
          .decoded(decode_hyperparameter)
          .merged(merge_hyperparameter);
  schema.types = config_type::any;
  schema.names_unknown = false;
  return schema;
}

// Without `type` it is a group, of the same again.
const ConfigSchema &hyperparameter() {
  static ConfigSchema schema = make_hyperparameter();
  static const bool is_closed = [] {
    schema.elements = {std::shared_ptr<const ConfigSchema>(), &schema};  // not owned
    return true;
  }();
  static_cast<void>(is_closed);
  return schema;
}

// Also inside of lists, where the original looks as well.
void check_counts(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) check_counts(checker, value[i], at[i]);
  } else if (!value.is_object()) {
    return;
  } else if (const Json &type = config_member(value, "type"); !value.contains("type")) {
    for (const auto &[key, inner] : value.items()) check_counts(checker, inner, at / key);
  } else if (is_range(type) && config_member(value, "count").is_null()) {
    checker.report(at, "grid_count_missing", "a grid search needs 'count', the number of points");
  }
}

}  // namespace

ConfigSchema hyperparameters_schema() { return map_of(hyperparameter()); }

bool check_grid(ConfigChecker &checker, const Json &config, const ConfigPath &at) {
  if (config_member(config_member(config, "searcher"), "name") == "grid")
    check_counts(checker, config_member(config, "hyperparameters"), at / "hyperparameters");
  return true;
}

bool has_hyperparameters(const Json &hyperparameters) {
  for (const Json &value : hyperparameters)
    if (!value.is_object() || value.contains("type") || has_hyperparameters(value)) return true;
  return false;
}

}  // namespace det::config
