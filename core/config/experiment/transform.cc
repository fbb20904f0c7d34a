#include "core/config/experiment/transform.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace det::config {

namespace {

const ConfigField *field_named(const std::vector<const ConfigField *> &fields,
                               const std::string &key) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const ConfigField *field) { return field->key == key; });
  return found != fields.end() ? *found : nullptr;
}

bool is_common(const ConfigSchema &schema, const std::string &key) {
  return std::any_of(schema.fields.begin(), schema.fields.end(),
                     [&](const ConfigField &field) { return field.key == key; });
}

Json filled_or_default(const ConfigField &field, const Json &value) {
  return fill_config(field.schema, value.is_null() && field.fallback ? *field.fallback : value);
}

}  // namespace

Json decode_config(const ConfigSchema &schema, Json value) {
  if (schema.decode != nullptr) value = schema.decode(std::move(value));
  if (value.is_array() && schema.elements != nullptr) {
    for (Json &element : value) element = decode_config(*schema.elements, std::move(element));
  } else if (value.is_object()) {
    const std::vector<const ConfigField *> fields = schema.fields_of(value);
    const ConfigSchema *others = schema.others_of(value);
    for (const auto &[key, inner] : value.items()) {
      const ConfigField *field = field_named(fields, key);
      if (field != nullptr && !inner.is_null())
        inner = decode_config(field->schema, std::move(inner));
      else if (field == nullptr && others != nullptr)
        inner = decode_config(*others, std::move(inner));
    }
  }
  return value;
}

Json merge_config(const ConfigSchema &schema, const Json &first, const Json &second) {
  if (second.is_null()) return first;
  if (first.is_null()) return second;
  if (schema.merge != nullptr) return schema.merge(schema, first, second);
  if (first.is_object() && second.is_object()) return merge_objects(schema, first, second);
  return first;
}

Json merge_objects(const ConfigSchema &schema, const Json &first, const Json &second) {
  const Json &name = config_member(first, schema.discriminator);
  const bool of_other_kind = !name.is_null() && name != config_member(second, schema.discriminator);
  const std::vector<const ConfigField *> fields = schema.fields_of(second);
  static const ConfigSchema any = anything();
  const ConfigSchema &others = schema.elements != nullptr ? *schema.elements : any;

  Json result = first;
  auto &keys = result.get_ref<Json::object_t &>();
  std::unordered_map<std::string, size_t> index;
  for (const auto &[key, value] : keys) index.emplace(key, index.size());
  for (const auto &[key, value] : second.items()) {
    if (of_other_kind && !is_common(schema, key)) continue;
    const auto found = index.find(key);
    if (found == index.end()) {
      keys.push_back({key, value});
      continue;
    }
    Json &slot = (keys.begin() + static_cast<std::ptrdiff_t>(found->second))->second;
    const ConfigField *field = field_named(fields, key);
    slot = merge_config(field != nullptr ? field->schema : others, slot, value);
  }
  return result;
}

Json fill_config(const ConfigSchema &schema, const Json &value) {
  Json result = value;
  if (value.is_array() && schema.elements != nullptr) {
    for (Json &element : result) element = fill_config(*schema.elements, element);
  } else if (value.is_object() && !schema.open) {
    auto &keys = (result = Json::object()).get_ref<Json::object_t &>();
    const std::vector<const ConfigField *> fields = schema.fields_of(value);
    for (const ConfigField *field : fields) {
      const Json &given = config_member(value, field->key);
      if (field->need == ConfigField::Need::ignored) continue;
      // A key that must be there may have null for its value, as a constant has.
      const bool is_null = field->need == ConfigField::Need::always && value.contains(field->key);
      if (!given.is_null() || field->fallback || is_null)
        keys.push_back({field->key, filled_or_default(*field, given)});
    }
    const ConfigSchema *others = schema.others_of(value);
    for (const auto &[key, inner] : value.items())
      if (field_named(fields, key) == nullptr)
        keys.push_back({key, others != nullptr ? fill_config(*others, inner) : inner});
  }
  return result;
}

Json keep_first(const ConfigSchema &, const Json &first, const Json &) { return first; }

Json append_by_key(const Json &first, const Json &second, const std::string &key) {
  if (!first.is_array() || !second.is_array()) return first;
  std::unordered_set<std::string> seen;
  for (const Json &entry : first) seen.insert(config_member(entry, key).dump());
  Json result = first;
  for (const Json &entry : second)
    if (seen.count(config_member(entry, key).dump()) == 0) result.push_back(entry);
  return result;
}

}  // namespace det::config
