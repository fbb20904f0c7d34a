#include "core/codec/fields.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/codec/refusal.h"

namespace det::codec {

namespace {

std::string in_snake_case(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string in_camel_case(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i)
    out += name[i] == '_' && ++i < name.size()
               ? static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])))
               : name[i];
  return out;
}

// The whole text as a number, or nothing.
template <class Number>
bool read_number(std::string_view text, Number &value) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_double(const std::string &text, double &value) {
  if (text == "NaN") value = std::numeric_limits<double>::quiet_NaN();
  else if (text == "Infinity") value = HUGE_VAL;
  else if (text == "-Infinity") value = -HUGE_VAL;
  else return read_number(text, value) && std::isfinite(value);
  return true;
}

}  // namespace

Fields::Fields(WireMessage &message, Json &body, const Fields *parent, std::string name)
    : message_(message), body_(body), parent_(parent), name_(std::move(name)) {
  if (!message.is_read) body = Json::object();
}

void Fields::refuse(const std::string &name, const std::string &problem) const {
  throw Error(message_.is_answer ? Code::corrupt : Code::invalid,
              message_.what + ": '" + for_people(full_name(name)) + "' " + problem);
}

void Fields::expect_object() const {
  if (!body_.is_object()) refuse(name_.empty() ? "body" : "", "must be a JSON object");
}

std::string Fields::full_name(const std::string &name) const {
  if (name_.empty()) return name;
  const std::string here = name.empty() ? name_ : name_ + "." + name;
  return parent_ != nullptr ? parent_->full_name(here) : here;
}

std::string Fields::written(const char *name) const {
  return message_.is_old_form ? in_snake_case(name) : name;
}

Json *Fields::find(const char *name) {
  expect_object();
  for (const std::string &key : {std::string(name), in_snake_case(name), in_camel_case(name)}) {
    const auto found = body_.find(key);
    if (found != body_.end() && !found->is_null()) return &*found;
  }
  return nullptr;
}

Json &Fields::add(const char *name) { return body_[written(name)]; }

void Fields::object(const char *name, Json &value) {
  if (!value.is_object() && !message_.is_read) refuse(name, "must be a JSON object");
  (*this)(name, value);
  if (message_.is_read && !value.is_object()) refuse(name, "must be a JSON object");
}

void Fields::object(const char *name, std::optional<Json> &value) {
  if (message_.is_read && find(name) != nullptr) value.emplace();
  if (value) object(name, *value);
}

void Fields::convert(Json &json, Name name, bool &value) {
  if (!message_.is_read) json = value;
  else if (json.is_boolean()) value = json.get<bool>();
  else refuse(name, "must be true or false");
}

void Fields::convert(Json &json, Name name, int64_t &value) {
  if (!message_.is_read) {
    json = value;
    return;
  }
  const bool fits =
      json.is_number_unsigned() ? json.get<uint64_t>() <= INT64_MAX : json.is_number_integer();
  if (fits) value = json.get<int64_t>();
  else if (!json.is_string() || !read_number(json.get_ref<const std::string &>(), value))
    refuse(name, "must be an integer of at most 64 bits");
}

void Fields::convert(Json &json, Name name, uint64_t &value) {
  if (!message_.is_read) {
    if (message_.is_answer) json = std::to_string(value);
    else json = value;
  } else if (json.is_number_unsigned()) {
    value = json.get<uint64_t>();
  } else if (!json.is_string() || !read_number(json.get_ref<const std::string &>(), value)) {
    refuse(name, "must be an integer of 0 or more and at most 64 bits");
  }
}

void Fields::convert(Json &json, Name name, double &value) {
  if (!message_.is_read) json = value;
  else if (json.is_number()) value = json.get<double>();
  else if (!json.is_string() || !read_double(json.get_ref<const std::string &>(), value))
    refuse(name, "must be a number, 'NaN', 'Infinity' or '-Infinity'");
}

void Fields::convert(Json &json, Name name, std::string &value) {
  if (!message_.is_read) json = value;
  else if (json.is_string()) value = std::move(json.get_ref<std::string &>());
  else refuse(name, "must be a text");
}

void Fields::convert(Json &json, Name name, Time &value) {
  if (!message_.is_read) {
    json = iso8601(value.us);
    return;
  }
  std::optional<int64_t> time;
  if (json.is_string()) time = parse_iso8601(json.get_ref<const std::string &>());
  if (!time) refuse(name, "must be a time like 2026-01-31T12:00:00.000001Z");
  value.us = *time;
}

void Fields::convert(Json &json, Name name, Sizes &value) {
  if (!message_.is_read) {
    // At once: one by one, each would be looked for among those before it.
    std::map<std::string, std::string> texts;
    for (const auto &[path, size] : value) texts.emplace(path, std::to_string(size));
    json = texts;
    return;
  }
  if (!json.is_object()) refuse(name, "must be an object of sizes by path");
  for (auto it = json.begin(); it != json.end(); ++it)
    convert(it.value(), name + "." + it.key(), value[it.key()]);
}

void Fields::convert(Json &json, Name, Json &value) {
  if (message_.is_read) value = std::move(json);
  else json = std::move(value);
}

void Fields::convert_enum(Json &json, Name name, size_t &value,
                          std::span<const char *const> names) {
  if (!message_.is_read) {
    json = names[value];
    return;
  }
  if (json.is_number_unsigned() && json.get<uint64_t>() < names.size()) {
    value = json.get<size_t>();
    return;
  }
  const auto found =
      !json.is_string() ? names.end() : std::ranges::find(names, json.get_ref<std::string &>());
  if (found == names.end()) refuse(name, "must be one of " + std::string(names[0]) + ", ...");
  value = static_cast<size_t>(found - names.begin());
}

size_t Fields::list_size(Json &json, Name name, size_t size) {
  if (!message_.is_read) json = Json::array_t(size);
  if (!json.is_array()) refuse(name, "must be a list");
  return json.size();
}

Json &Fields::element(Json &list, size_t index) { return list[index]; }

void Fields::convert_parameter(Parameters &parameters, const char *name, bool is_bool,
                               const std::function<void(Json &)> &convert_value) {
  Json json;
  if (message_.is_read) json = parameters[name];
  if (is_bool && (json == "true" || json == "false")) json = json == "true";
  convert_value(json);
  if (!message_.is_read)
    parameters[name] = json.is_string() ? json.get<std::string>() : json.dump();
}

}  // namespace det::codec
