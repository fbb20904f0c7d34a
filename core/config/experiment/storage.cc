// The sections `checkpoint_storage` and `tensorboard_storage`: where checkpoints go.
#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "core/base/file.h"
#include "core/config/experiment/check.h"
#include "core/config/experiment/sections.h"
#include "core/config/experiment/transform.h"

namespace det::config {

namespace {

using Fields = std::vector<ConfigField>;

bool is_set(const Json &storage, const char *key) { return !config_member(storage, key).is_null(); }

bool check_prefix(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  const std::filesystem::path prefix = value.get<std::string>();
  if (std::find(prefix.begin(), prefix.end(), "..") != prefix.end())
    checker.report(at, "rule", "must not have '..' in it, found " + found_value(value));
  return true;
}

void check_storage_path(ConfigChecker &checker, const Json &storage, const ConfigPath &at) {
  const Json &host = config_member(storage, "host_path");
  const Json &path = config_member(storage, "storage_path");
  if (!host.is_string() || !path.is_string()) return;
  // A host path that is not absolute holds for paths as well.
  const std::filesystem::path root =
      normal_path(std::filesystem::path("/") / host.get<std::string>());
  if (!is_below(normal_path(root / path.get<std::string>()), root))
    checker.report(at, "rule",
                   "'storage_path' must be a directory below 'host_path', " + found_value(host) +
                       ", found " + found_value(path));
}

void check_credentials(ConfigChecker &checker, const Json &storage, const ConfigPath &at) {
  const bool by_string = is_set(storage, "connection_string");
  if (by_string && is_set(storage, "credential"))
    checker.report(at, "rule", "'credential' and 'connection_string' must not both be set");
  if (checker.complete() && by_string == is_set(storage, "account_url"))
    checker.report(at, "rule", "exactly one of 'connection_string' and 'account_url' must be set");
}

bool check_storage(ConfigChecker &checker, const Json &storage, const ConfigPath &at) {
  const Json &type = config_member(storage, "type");
  if (type == "shared_fs") check_storage_path(checker, storage, at);
  if (type == "azure") check_credentials(checker, storage, at);
  return true;
}

// What says who we are to Azure comes from one source as a whole.
Json merge_storage(const ConfigSchema &schema, const Json &first, const Json &second) {
  if (!first.is_object() || !second.is_object()) return first;
  Json rest = second;
  if (is_set(first, "connection_string") || is_set(first, "account_url"))
    for (const char *key : {"connection_string", "account_url", "credential"}) erase_key(rest, key);
  return merge_objects(schema, first, rest);
}

bool check_tensorboard_storage(ConfigChecker &checker, const Json &storage, const ConfigPath &at) {
  for (const auto &[key, value] : storage.items())
    if (key.starts_with("save_")) {
      checker.report(at, "rule", "'" + key + "' has no meaning here; the section is ignored");
      return false;
    }
  return true;
}

// Of buckets: what users write, and the keys that only this library knows. docs/object-stores.md
// tells them all; core/cloud reads them.
Fields bucket_fields(Fields known, std::initializer_list<const char *> texts,
                     std::initializer_list<const char *> flags) {
  for (const char *key : {"temp_dir", "ca_bundle"}) known.push_back(optional(key, text()));
  for (const char *key : texts) known.push_back(optional(key, text()));
  for (const char *key : flags) known.push_back(optional(key, boolean()));
  known.push_back(optional("deduplicate", boolean()));
  known.push_back(optional("transfer_memory", integer().at_least(1)));
  return known;
}

ConfigSchema storage(Fields common) {
  common.insert(common.begin(), needed("type", anything()));
  const ConfigSchema prefix = text().checked(check_prefix);
  return choice(
      "type", std::move(common),
      {{"shared_fs",
        {needed("host_path", text()), optional("storage_path", text(), nullptr),
         optional("propagation", text(), "rprivate"), optional("container_path", text()),
         optional("checkpoint_path", text()), optional("tensorboard_path", text()),
         optional("deduplicate", boolean())}},
       {"directory", {needed("container_path", text()), optional("deduplicate", boolean())}},
       {"s3", bucket_fields(
                  {needed("bucket", text()), optional("access_key", text(), nullptr),
                   optional("secret_key", text(), nullptr),
                   optional("endpoint_url", text(), nullptr), optional("prefix", prefix, nullptr)},
                  {"session_token", "profile", "region", "addressing_style", "sse",
                   "sse_kms_key_id", "storage_class", "checksum"},
                  {"anonymous", "use_dualstack", "use_fips", "requester_pays", "sign_payload",
                   "verify"})},
       {"gcs", bucket_fields({needed("bucket", text()), optional("prefix", prefix, nullptr)},
                             {"endpoint_url", "universe_domain", "user_project", "kms_key_name",
                              "storage_class"},
                             {"anonymous"})},
       {"azure", bucket_fields({needed("container", text()), optional("connection_string", text()),
                                optional("account_url", text()), optional("credential", text())},
                               {"account_name", "client_id", "access_tier", "encryption_scope",
                                "customer_key"},
                               {"anonymous"})}});
}

}  // namespace

ConfigSchema storage_schema() {
  const ConfigSchema count = integer().at_least(0);
  return storage({optional("save_experiment_best", count, 0), optional("save_trial_best", count, 1),
                  optional("save_trial_latest", count, 1),
                  optional("gc_latest_per_trial", boolean())})
      .checked(check_storage)
      .merged(merge_storage);
}

ConfigSchema tensorboard_storage_schema() { return storage({}).checked(check_tensorboard_storage); }

}  // namespace det::config
