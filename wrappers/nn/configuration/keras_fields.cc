#include "wrappers/nn/configuration/keras_fields.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/configuration/named_config.h"

namespace det::nn {

struct Fields::Kept {
  Json complete = Json::object();
  std::deque<Json> defaults;  // that were handed out
};

namespace {

std::string short_text(const Json &value) {
  std::string text = to_wire(value);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

// That has 64 bits with a sign.
bool is_whole(const Json &value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
}

// What is written as JSON would be another thing: it has no such numbers.
bool has_non_finite(const Json &value) {
  if (value.is_structured()) return std::any_of(value.begin(), value.end(), has_non_finite);
  return value.is_number_float() && !std::isfinite(value.get<double>());
}

}  // namespace

Fields::Fields(const Json &config, std::string where)
    : config_(config), where_(std::move(where)), kept_(std::make_unique<Kept>()) {
  if (!config.is_object())
    throw Error(Code::invalid,
                "reading " + where_ + ": its configuration is no object: " + short_text(config));
}

Fields::~Fields() = default;

const Json *Fields::find(const char *key) const {
  const auto found = config_.find(key);
  return found == config_.end() ? nullptr : &*found;
}

bool Fields::has(const char *key) const {
  const Json *value = find(key);
  return value != nullptr && !value->is_null();
}

// What is given stays where it is; what is kept of it moves as more is kept.
const Json &Fields::keep(const char *key, const Json &value) {
  if (has_non_finite(value)) refuse(key, "finite", value);
  kept_->complete[key] = value;
  const Json *given = find(key);
  return given != nullptr ? *given : kept_->defaults.emplace_back(value);
}

void Fields::refuse(const char *key, const char *wanted, const Json &value) const {
  throw Error(Code::invalid, "reading " + where_ + ": '" + key + "' must be " + wanted + ", not " +
                                 short_text(value));
}

void Fields::refuse_missing(const char *key) const {
  throw Error(Code::invalid,
              "reading " + where_ + ": '" + key + "' is missing, and has no default");
}

int64_t Fields::integer(const char *key, std::optional<int64_t> usual) {
  const Json *value = find(key);
  if (value == nullptr && usual) return keep(key, *usual).get<int64_t>();
  if (value == nullptr) refuse_missing(key);
  if (!is_whole(*value)) refuse(key, "a whole number", *value);
  return keep(key, *value).get<int64_t>();
}

int64_t Fields::positive_integer(const char *key, std::optional<int64_t> usual) {
  const int64_t value = integer(key, usual);
  if (value < 1) refuse(key, "1 or more", value);
  return value;
}

double Fields::number(const char *key, std::optional<double> usual) {
  const Json *value = find(key);
  if (value == nullptr && usual) return keep(key, *usual).get<double>();
  if (value == nullptr) refuse_missing(key);
  if (!value->is_number()) refuse(key, "a number", *value);
  return keep(key, *value).get<double>();
}

bool Fields::flag(const char *key, std::optional<bool> usual) {
  const Json *value = find(key);
  if (value == nullptr && usual) return keep(key, *usual).get<bool>();
  if (value == nullptr) refuse_missing(key);
  if (!value->is_boolean()) refuse(key, "true or false", *value);
  return keep(key, *value).get<bool>();
}

std::string Fields::text(const char *key, std::optional<std::string> usual) {
  const Json *value = find(key);
  if (value == nullptr && usual) return keep(key, *usual).get<std::string>();
  if (value == nullptr) refuse_missing(key);
  if (!value->is_string()) refuse(key, "a text", *value);
  return keep(key, *value).get<std::string>();
}

Shape Fields::integers(const char *key, size_t count, std::optional<Shape> usual) {
  const Json *value = find(key);
  if (value == nullptr && usual) return keep(key, *usual).get<Shape>();
  if (value == nullptr) refuse_missing(key);
  if (is_whole(*value)) return Shape(count, keep(key, *value).get<int64_t>());
  bool fits = value->is_array() && value->size() == count;
  for (size_t i = 0; fits && i < count; ++i) fits = is_whole((*value)[i]);
  if (!fits)
    refuse(key, ("a whole number, or " + std::to_string(count) + " of them").c_str(), *value);
  return keep(key, *value).get<Shape>();
}

std::vector<double> Fields::numbers(const char *key) {
  std::vector<double> read = any_numbers(key);
  keep(key, *find(key));
  return read;
}

std::vector<double> Fields::any_numbers(const char *key) {
  const Json *value = find(key);
  if (value == nullptr) refuse_missing(key);
  bool fits = value->is_array();
  for (size_t i = 0; fits && i < value->size(); ++i) fits = (*value)[i].is_number();
  if (!fits) refuse(key, "an array of numbers", *value);
  kept_->complete[key] = *value;
  return value->get<std::vector<double>>();
}

std::optional<double> Fields::number_or_none(const char *key) {
  if (has(key)) return number(key);
  any(key);
  return {};
}

Shape Fields::shape(const char *key) {
  const Json *value = find(key);
  if (value == nullptr) refuse_missing(key);
  if (!value->is_array()) refuse(key, "an array of sizes", *value);
  Shape sizes;
  for (const Json &size : keep(key, *value)) {
    if (!size.is_null() && (!is_whole(size) || size.get<int64_t>() < unknown))
      refuse(key, "an array of sizes, each a whole number or null", *value);
    sizes.push_back(size.is_null() ? unknown : size.get<int64_t>());
  }
  return sizes;
}

const Json &Fields::any(const char *key, const Json &usual) {
  const Json *value = find(key);
  return keep(key, value != nullptr ? *value : usual);
}

const Json &Fields::any(const char *key) { return any(key, Json()); }

void Fields::only(const char *key, const Json &value) {
  const Json &given = any(key, value);
  if (given != value)
    throw Error(Code::unsupported, "reading " + where_ + ": '" + key + "' is " + short_text(given) +
                                       "; only " + short_text(value) + " is supported");
}

void Fields::only_null(const char *key) { only(key, Json()); }

void Fields::without_effect(const char *key) {
  if (const Json *value = find(key)) keep(key, *value);
}

void Fields::finish() const {
  for (const auto &[key, value] : config_.items()) {
    if (kept_->complete.contains(key)) continue;
    std::vector<std::string> known;
    for (const auto &[name, kept] : kept_->complete.items()) known.push_back(name);
    throw Error(Code::invalid,
                "reading " + where_ + ": it has no '" + key + "'" + suggestion(key, known));
  }
}

const Json &Fields::complete() const { return kept_->complete; }

}  // namespace det::nn
