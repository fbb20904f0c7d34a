#include "core/config/experiment/check.h"

#include <algorithm>
#include <cmath>

#include "core/config/experiment/suggestion.h"

namespace det::config {

namespace {

// Whoever reads more than this corrects the first ones and asks again.
constexpr size_t most_problems = 1000;

unsigned type_of(const Json &value) {
  switch (value.type()) {
    case Json::value_t::null:
      return config_type::null;
    case Json::value_t::boolean:
      return config_type::boolean;
    case Json::value_t::string:
      return config_type::text;
    case Json::value_t::array:
      return config_type::list;
    case Json::value_t::object:
      return config_type::object;
    default:
      return config_type::number | (is_whole(value) ? config_type::integer : 0);
  }
}

std::string listed(const std::vector<std::string> &words, const std::string &last) {
  std::string all;
  for (size_t i = 0; i < words.size(); ++i)
    all += (i == 0 ? "" : i + 1 < words.size() ? ", " : last) + words[i];
  return all;
}

std::string expected(unsigned types) {
  std::vector<std::string> names;
  if (types & config_type::boolean) names.push_back("true or false");
  if (types & config_type::number) names.push_back("a number");
  else if (types & config_type::integer) names.push_back("an integer");
  if (types & config_type::text) names.push_back("a text");
  if (types & config_type::list) names.push_back("a list");
  if (types & config_type::object) names.push_back("an object");
  return names.empty() ? "null" : listed(names, " or ");
}

std::string range_of(const ConfigSchema &schema) {
  const std::string most = schema.most ? std::to_string(static_cast<int64_t>(*schema.most)) : "";
  if (!schema.least) return "at most " + most;
  const std::string least = std::to_string(static_cast<int64_t>(*schema.least));
  if (schema.most) return "from " + least + " to " + most;
  return (schema.excludes_least ? "above " : "at least ") + least;
}

std::vector<std::string> names_of(const std::vector<ConfigAlternative> &alternatives) {
  std::vector<std::string> names;
  for (const ConfigAlternative &alternative : alternatives)
    names.push_back("'" + alternative.name + "'");
  return names;
}

bool has_field(const std::vector<ConfigField> &fields, const std::string &key) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const ConfigField &field) { return field.key == key; });
}

// Those alternatives that know `key`.
std::vector<std::string> owners_of(const ConfigSchema &schema, const std::string &key) {
  std::vector<std::string> owners;
  for (const ConfigAlternative &alternative : schema.alternatives)
    if (has_field(alternative.fields, key)) owners.push_back("'" + alternative.name + "'");
  return owners;
}

// Why a value of the wrong type may be there.
std::string hint_for(const ConfigSchema &schema, const Json &value, const ConfigPath &at) {
  if (value.is_boolean() && (schema.types & config_type::text) != 0)
    return std::string("; unquoted, ") + (value == true ? "y, yes and on" : "n, no and off") +
           " are " + value.dump() + " in YAML: put a text into quotes";
  if (at.parent == nullptr || at.is_index) return "";
  const std::string old = hint_for_old_key(at.parent->text(), std::string(at.key), value);
  return old.empty() ? "" : "; " + old;
}

}  // namespace

std::string ConfigPath::text() const {
  if (parent == nullptr) return "";
  const std::string step = is_index ? "[" + std::to_string(index) + "]" : "." + std::string(key);
  return parent->text() + step;
}

std::string found_value(const Json &value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  if (!value.is_string()) return value.dump();
  constexpr size_t most = 60;
  std::string text = value.get<std::string>();
  if (text.size() > most) {
    size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text = text.substr(0, end) + "...";
  }
  return "the text '" + text + "'";
}

bool is_whole(const Json &value) {
  if (value.is_number_integer()) return true;
  return value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>();
}

void ConfigChecker::report(const ConfigPath &at, const std::string &kind,
                           const std::string &message, const std::string &key,
                           const std::string &in) {
  if (++reported_ > most_problems) return;
  const std::string &inside = in.empty() ? key : in;
  if (inside.empty()) report_(at, kind, message, key, at);
  else report_(at, kind, message, key, at / inside);
}

void ConfigChecker::report_choice(const ConfigSchema &schema, const Json &value,
                                  const ConfigPath &at) {
  report(at, "not_in_enum",
         "must be " + listed(schema.choices, " or ") + ", found " + found_value(value) +
             hint_for(schema, value, at));
}

void ConfigChecker::check(const ConfigSchema &schema, const Json &value, const ConfigPath &at) {
  if (reported_ > most_problems) return;
  const bool has_type = (type_of(value) & schema.types) != 0;
  if (!has_type && !schema.choices.empty()) return report_choice(schema, value, at);
  if (!has_type)
    return report(at, "wrong_type",
                  "expected " + expected(schema.types) + ", found " + found_value(value) +
                      hint_for(schema, value, at));
  if (value.is_null() && !(schema.types == config_type::any)) return;
  if (schema.check != nullptr && !schema.check(*this, value, at)) return;
  if (value.is_number()) check_number(schema, value, at);
  if (value.is_object()) check_object(schema, value, at);
  if (value.is_array() && schema.elements != nullptr)
    for (size_t i = 0; i < value.size(); ++i) check(*schema.elements, value[i], at[i]);
  if (value.is_string() && !schema.choices.empty() &&
      std::find(schema.choices.begin(), schema.choices.end(),
                value.get_ref<const std::string &>()) == schema.choices.end())
    report_choice(schema, value, at);
}

void ConfigChecker::check_number(const ConfigSchema &schema, const Json &value,
                                 const ConfigPath &at) {
  const double number = value.get<double>();
  const bool too_small =
      schema.least && (schema.excludes_least ? !(number > *schema.least) : number < *schema.least);
  if (too_small || (schema.most && number > *schema.most))
    return report(at, "out_of_range",
                  "must be " + range_of(schema) + ", found " + found_value(value));
  const bool integers_only =
      (schema.types & (config_type::integer | config_type::number)) == config_type::integer;
  if (integers_only && !value.is_number_integer() && number != 0)  // -0.0 is 0
    report(at, "decode", found_value(value) + " does not fit into 64 bits");
}

void ConfigChecker::check_object(const ConfigSchema &schema, const Json &value,
                                 const ConfigPath &at) {
  if (schema.open) return;
  const bool unselected = !schema.alternatives.empty() && schema.selected(value) == nullptr;
  const std::vector<const ConfigField *> fields = schema.fields_of(value);
  for (const ConfigField *field : fields) {
    const auto found = value.find(field->key);
    const bool absent = found == value.end();
    if (absent ? field->need == ConfigField::Need::always ||
                     (complete_ && field->need == ConfigField::Need::complete)
               : found->is_null() && complete_ && field->need == ConfigField::Need::complete)
      report_missing(field->key, at);
    else if (!absent) check(field->schema, *found, at / field->key);
  }
  const ConfigSchema *others = schema.others_of(value);
  if (unselected && (others == nullptr || value.contains(schema.discriminator)))
    return check_unselected(schema, value, at);
  for (const auto &[key, inner] : value.items()) {
    if (std::any_of(fields.begin(), fields.end(),
                    [&key = key](const ConfigField *field) { return field->key == key; }))
      continue;
    if (others != nullptr) check(*others, inner, at / key);
    else report_unknown(schema, value, key, at);
  }
}

// Keys beside a discriminator that is absent, or selects nothing.
void ConfigChecker::check_unselected(const ConfigSchema &schema, const Json &value,
                                     const ConfigPath &at) {
  const bool absent = !value.contains(schema.discriminator);
  if (!absent)
    report(at, "no_alternative",
           "'" + schema.discriminator + "' must be " +
               listed(names_of(schema.alternatives), " or ") + ", found " +
               found_value(value[schema.discriminator]),
           {}, schema.discriminator);
  for (const auto &[key, inner] : value.items()) {
    if (has_field(schema.fields, key)) continue;
    const std::vector<std::string> owners = owners_of(schema, key);
    if (owners.empty() && (absent || schema.names_unknown)) report_unknown(schema, value, key, at);
    else if (absent)
      report(at, "decode",
             "'" + key + "' has no meaning without '" + schema.discriminator + "', one of " +
                 listed(owners, " or "),
             key);
  }
}

void ConfigChecker::report_unknown(const ConfigSchema &schema, const Json &value,
                                   const std::string &key, const ConfigPath &at) {
  if (reported_ > most_problems) return;
  std::string message = "unknown key '" + key + "'";
  std::vector<std::string> candidates;
  for (const ConfigField *field : schema.fields_of(value)) candidates.push_back(field->key);
  const std::vector<std::string> owners = owners_of(schema, key);
  const std::string nearest = suggestion(key, candidates);
  const std::string old = hint_for_old_key(at.text(), key, value[key]);
  if (!old.empty()) message += "; " + old;
  else if (!owners.empty())
    message +=
        " for '" + schema.selected(value)->name + "'; it belongs to " + listed(owners, " and ");
  else if (!nearest.empty()) message += "; did you mean '" + nearest + "'?";
  else if (!candidates.empty()) message += "; allowed are " + listed(candidates, " and ");
  report(at, "unknown_key", message, key);
}

void ConfigChecker::report_missing(const std::string &key, const ConfigPath &at) {
  report(at, "missing_required", "'" + key + "' is missing", key);
}

}  // namespace det::config
