#include "core/config/experiment/schema.h"

#include <utility>

namespace det::config {

namespace {

ConfigSchema of_type(unsigned types) {
  ConfigSchema schema;
  schema.types = types;
  return schema;
}

ConfigField field(std::string key, ConfigSchema schema, ConfigField::Need need) {
  if (need != ConfigField::Need::always) schema.types |= config_type::null;
  return {std::move(key), std::move(schema), need, std::nullopt};
}

// A copy with one thing changed.
template <class T>
ConfigSchema with(ConfigSchema schema, T ConfigSchema::*member, T value) {
  schema.*member = std::move(value);
  return schema;
}

}  // namespace

ConfigSchema ConfigSchema::or_type(unsigned type) const {
  return with(*this, &ConfigSchema::types, types | type);
}

ConfigSchema ConfigSchema::at_least(double bound) const {
  return with(*this, &ConfigSchema::least, std::optional(bound));
}

ConfigSchema ConfigSchema::above(double bound) const {
  return with(at_least(bound), &ConfigSchema::excludes_least, true);
}

ConfigSchema ConfigSchema::at_most(double bound) const {
  return with(*this, &ConfigSchema::most, std::optional(bound));
}

ConfigSchema ConfigSchema::one_of(std::vector<std::string> values) const {
  return with(*this, &ConfigSchema::choices, std::move(values));
}

ConfigSchema ConfigSchema::checked(Check function) const {
  return with(*this, &ConfigSchema::check, function);
}

ConfigSchema ConfigSchema::decoded(Decode function) const {
  return with(*this, &ConfigSchema::decode, function);
}

ConfigSchema ConfigSchema::merged(Merge function) const {
  return with(*this, &ConfigSchema::merge, function);
}

const ConfigAlternative *ConfigSchema::selected(const Json &object) const {
  const Json &name = config_member(object, discriminator);
  if (!name.is_string()) return nullptr;
  for (const ConfigAlternative &alternative : alternatives)
    if (name == alternative.name) return &alternative;
  return nullptr;
}

std::vector<const ConfigField *> ConfigSchema::fields_of(const Json &object) const {
  std::vector<const ConfigField *> all;
  for (const ConfigField &field : fields) all.push_back(&field);
  if (const ConfigAlternative *alternative = selected(object))
    for (const ConfigField &field : alternative->fields) all.push_back(&field);
  return all;
}

const ConfigSchema *ConfigSchema::others_of(const Json &object) const {
  return selected(object) == nullptr ? elements.get() : nullptr;
}

ConfigSchema anything() { return with(of_type(config_type::any), &ConfigSchema::open, true); }
ConfigSchema boolean() { return of_type(config_type::boolean); }
ConfigSchema integer() { return of_type(config_type::integer); }
ConfigSchema number() { return of_type(config_type::number); }
ConfigSchema text() { return of_type(config_type::text); }

ConfigSchema list_of(ConfigSchema elements) {
  ConfigSchema schema = of_type(config_type::list);
  schema.elements = std::make_shared<ConfigSchema>(std::move(elements));
  return schema;
}

ConfigSchema map_of(ConfigSchema elements) {
  ConfigSchema schema = of_type(config_type::object);
  schema.elements = std::make_shared<ConfigSchema>(std::move(elements));
  return schema;
}

ConfigSchema object(std::vector<ConfigField> fields) {
  return with(of_type(config_type::object), &ConfigSchema::fields, std::move(fields));
}

ConfigSchema open_object() { return with(object({}), &ConfigSchema::open, true); }

ConfigSchema choice(std::string discriminator, std::vector<ConfigField> common,
                    std::vector<ConfigAlternative> alternatives) {
  ConfigSchema schema = object(std::move(common));
  schema.discriminator = std::move(discriminator);
  schema.alternatives = std::move(alternatives);
  return schema;
}

ConfigField optional(std::string key, ConfigSchema schema) {
  return field(std::move(key), std::move(schema), ConfigField::Need::optional);
}

ConfigField optional(std::string key, ConfigSchema schema, Json fallback) {
  ConfigField result = optional(std::move(key), std::move(schema));
  result.fallback = std::move(fallback);
  return result;
}

ConfigField needed(std::string key, ConfigSchema schema) {
  return field(std::move(key), std::move(schema), ConfigField::Need::complete);
}

ConfigField required(std::string key, ConfigSchema schema) {
  return field(std::move(key), std::move(schema), ConfigField::Need::always);
}

ConfigField ignored(std::string key, ConfigSchema schema) {
  return field(std::move(key), std::move(schema), ConfigField::Need::ignored);
}

const Json &config_member(const Json &object, std::string_view key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(std::string(key));
  return found != object.end() ? *found : none;
}

}  // namespace det::config
