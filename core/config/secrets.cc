#include "core/config/secrets.h"

#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "core/config/experiment/yaml.h"

namespace det::config {

namespace {

constexpr std::string_view mask = "********";

struct Section {
  std::vector<std::string_view> path;
  std::vector<std::string_view> keys;  // none: every value in it
};

const std::vector<std::string_view> of_storage{"access_key",        "secret_key", "session_token",
                                               "connection_string", "credential", "customer_key"};

const std::array sections{
    Section{{"checkpoint_storage"}, of_storage},
    Section{{"tensorboard_storage"}, of_storage},
    Section{{"environment", "registry_auth"},
            {"password", "auth", "identitytoken", "registrytoken"}},
    Section{{"data", "secrets"}, {}},
};

using Visit = std::function<void(Json &value, const std::vector<std::string> &path)>;

void visit_values(Json &value, std::vector<std::string> &path, const Visit &visit) {
  const bool is_given = value.is_number() || (value.is_array() && !value.empty()) ||
                        (value.is_string() && value != Json(""));
  if (is_given) visit(value, path);
  if (!value.is_object()) return;
  for (auto &[key, inner] : value.items()) {
    path.push_back(key);
    visit_values(inner, path, visit);
    path.pop_back();
  }
}

void visit_section(Json &config, const Section &section, const Visit &visit) {
  Json *at = &config;
  std::vector<std::string> path;
  for (const std::string_view name : section.path) {
    path.emplace_back(name);
    const auto found = at->is_object() ? at->find(path.back()) : at->end();
    if (found == at->end()) return;
    at = &*found;
  }
  if (section.keys.empty()) return visit_values(*at, path, visit);
  for (const std::string_view key : section.keys) {
    path.emplace_back(key);
    const auto found = at->is_object() ? at->find(path.back()) : at->end();
    if (found != at->end()) visit_values(*found, path, visit);
    path.pop_back();
  }
}

void visit_secrets(Json &config, const Visit &visit) {
  for (const Section &section : sections) visit_section(config, section, visit);
}

const Json *member_at(const Json &object, const std::vector<std::string> &path) {
  const Json *at = &object;
  for (const std::string &key : path) {
    const auto found = at->is_object() ? at->find(key) : at->end();
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

void erase_at(Json &object, const std::vector<std::string> &path) {
  Json *at = &object;
  for (size_t i = 0; i + 1 < path.size(); ++i) at = &at->at(path[i]);
  erase_key(*at, path.back());
}

Json each_as(std::string_view word, Json secrets) {
  if (!secrets.is_object()) return word;
  for (Json &inner : secrets) inner = each_as(word, inner);
  return secrets;
}

std::string with_each_as(std::string_view word, std::string text, const Json &secrets) {
  if (secrets.is_string()) {
    const auto &secret = secrets.get_ref<const std::string &>();
    for (size_t at = 0; (at = text.find(secret, at)) != text.npos; at += word.size())
      text.replace(at, secret.size(), word);
  }
  if (secrets.is_object())
    for (const auto &[key, inner] : secrets.items())
      text = with_each_as(word, std::move(text), inner);
  return text;
}

}  // namespace

Json take_secrets(Json &config) {
  Json secrets = Json::object();
  visit_secrets(config, [&](Json &value, const std::vector<std::string> &path) {
    if (value == Json(mask)) return;
    Json *at = &secrets;
    for (const std::string &key : path) at = &(*at)[key];
    *at = std::exchange(value, Json(mask));
  });
  return secrets;
}

void put_secrets(Json &config, const Json &secrets) {
  std::vector<std::vector<std::string>> unknown;
  visit_secrets(config, [&](Json &value, const std::vector<std::string> &path) {
    if (value != Json(mask)) return;
    if (const Json *secret = member_at(secrets, path)) value = *secret;
    else unknown.push_back(path);
  });
  for (const auto &path : unknown) erase_at(config, path);
}

Json with_masked_secrets(Json config) {
  take_secrets(config);
  return config;
}

Json storage_with_masked_secrets(Json storage) {
  Json config{{"checkpoint_storage", std::move(storage)}};
  take_secrets(config);
  return std::move(config["checkpoint_storage"]);
}

std::string with_masked_secrets(const std::string &text, Json config) {
  const Json secrets = take_secrets(config);
  if (secrets.empty()) return text;
  constexpr std::string_view word = "MASKED";  // the mask itself is an alias in YAML
  try {
    Json whole = read_yaml(text).value,
         replaced = read_yaml(with_each_as(word, text, secrets)).value;
    if (take_secrets(replaced) == each_as(word, take_secrets(whole)))
      return with_each_as(mask, text, secrets);
  } catch (const YamlError &) {
    // A secret is a part of its form.
  }
  return to_wire(config);
}

}  // namespace det::config
