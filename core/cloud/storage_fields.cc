#include "core/cloud/storage_fields.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"

namespace det::cloud {

namespace {

// Of all stores; how long checkpoints are kept is the master's business.
constexpr std::array<std::string_view, 7> common_keys{"type",
                                                      "temp_dir",
                                                      "save_experiment_best",
                                                      "save_trial_best",
                                                      "save_trial_latest",
                                                      "gc_latest_per_trial",
                                                      "ca_bundle"};

}  // namespace

std::string optional_text(const Json &object, const char *member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

StorageFields::StorageFields(const Json &config, std::initializer_list<const char *> known)
    : config_(config) {
  if (!config.is_object()) refuse("it must be an object");
  type_ = text("type");
  for (const auto &item : config.items()) {
    const auto is_it = [&](std::string_view name) { return name == item.key(); };
    if (std::ranges::none_of(common_keys, is_it) && std::ranges::none_of(known, is_it))
      refuse("there is no key '" + item.key() + "'; docs/object-stores.md lists what there is");
  }
}

std::string StorageFields::text(const char *key) const {
  const Json *value = find(key);
  if (value == nullptr) return {};
  if (!value->is_string()) refuse("'" + std::string(key) + "' must be a string");
  std::string text = value->get<std::string>();
  if (text.find('\0') != text.npos) refuse("'" + std::string(key) + "' must not contain NUL");
  return text;
}

std::string StorageFields::required_text(const char *key) const {
  std::string value = text(key);
  if (value.empty()) refuse("it needs a non-empty '" + std::string(key) + "'");
  return value;
}

std::optional<bool> StorageFields::flag(const char *key) const {
  const Json *value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse("'" + std::string(key) + "' must be true or false");
  return value->get<bool>();
}

http::TlsOptions StorageFields::tls() const {
  http::TlsOptions options;
  if (const std::string file = text("ca_bundle"); !file.empty())
    options.certificates = read_file(file);
  return options;
}

void StorageFields::refuse(const std::string &why) const {
  throw Error(Code::invalid, "reading checkpoint_storage" +
                                 (type_.empty() ? "" : " of type " + type_) + ": " + why);
}

const Json *StorageFields::find(const char *key) const {
  const auto found = config_.find(key);
  return found == config_.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace det::cloud
