#include "core/cloud/s3/s3_options.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "core/base/environment.h"
#include "core/base/file.h"
#include "core/base/json.h"

namespace det::cloud {

namespace {

constexpr std::array known_keys{
    "type", "bucket", "access_key", "secret_key", "endpoint_url", "prefix", "temp_dir",
    "save_experiment_best", "save_trial_best", "save_trial_latest",
    // Ours.
    "session_token", "region", "profile", "anonymous", "addressing_style", "use_dualstack",
    "use_fips", "requester_pays", "sse", "sse_kms_key_id", "storage_class", "checksum",
    "sign_payload", "ca_bundle", "verify"};

[[noreturn]] void refuse(const std::string &why) {
  throw Error(Code::invalid, "reading checkpoint_storage: " + why);
}

const Json *find(const Json &config, const char *key) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null() ? nullptr : &*found;
}

std::string text(const Json &config, const char *key) {
  const Json *value = find(config, key);
  if (value == nullptr) return {};
  if (!value->is_string()) refuse("'" + std::string(key) + "' must be a string");
  return value->get<std::string>();
}

std::optional<bool> flag(const Json &config, const char *key) {
  const Json *value = find(config, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse("'" + std::string(key) + "' must be true or false");
  return value->get<bool>();
}

// As the key says, else the first of the variables that says something.
std::string setting(const Json &config, const char *key,
                    std::initializer_list<const char *> variables) {
  std::string value = text(config, key);
  for (const char *variable : variables)
    if (value.empty()) value = environment_variable(variable);
  return value;
}

bool switched_on(const Json &config, const char *key, const char *variable) {
  if (const auto given = flag(config, key)) return *given;
  const std::string value = environment_variable(variable);
  return value == "true" || value == "True" || value == "TRUE" || value == "1";
}

template <class Value>
Value chosen(const Json &config, const char *key,
             std::initializer_list<std::pair<const char *, Value>> choices) {
  const std::string given = text(config, key);
  std::string names;
  for (const auto &[name, value] : choices) {
    if (given == name || given.empty()) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  refuse("'" + std::string(key) + "' is '" + given + "'; it can be: " + names);
}

void check_keys(const Json &config) {
  if (!config.is_object()) refuse("it must be an object");
  for (const auto &item : config.items())
    if (std::find(known_keys.begin(), known_keys.end(), item.key()) == known_keys.end())
      refuse("s3 has no '" + item.key() + "'; docs/object-stores.md lists what there is");
}

std::optional<Credentials> credentials_in(const Json &config) {
  Credentials given{text(config, "access_key"), text(config, "secret_key"),
                    text(config, "session_token"), "access_key of checkpoint_storage"};
  if (given.access_key.empty() != given.secret_key.empty())
    refuse("give both access_key and secret_key, or none of them");
  if (given.access_key.empty() && !given.session_token.empty())
    refuse("a session_token is nothing without access_key and secret_key");
  if (given.access_key.empty()) return std::nullopt;
  return given;
}

http::TlsOptions tls_of(const Json &config, Logger &logger) {
  http::TlsOptions tls;
  tls.verify = flag(config, "verify").value_or(true);
  if (!tls.verify)
    logger.warning(
        "checkpoint_storage says \"verify\": false: anybody in between can read and change "
        "what goes to the bucket");
  const std::string bundle = setting(config, "ca_bundle", {"AWS_CA_BUNDLE"});
  if (!bundle.empty()) tls.certificates = read_file(bundle);
  return tls;
}

}  // namespace

S3Options S3Options::from(const Json &config, Logger &logger) {
  check_keys(config);
  S3Options options;
  options.bucket = text(config, "bucket");
  if (options.bucket.empty()) refuse("s3 needs a 'bucket'");
  if (options.bucket.starts_with("arn:") || options.bucket.find('/') != std::string::npos)
    refuse("'bucket' must be the name or the alias of a bucket, not '" + options.bucket + "'");
  options.endpoint_url =
      setting(config, "endpoint_url", {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  options.region = setting(config, "region", {"AWS_REGION", "AWS_DEFAULT_REGION"});
  options.addressing = chosen<Addressing>(config, "addressing_style",
                                          {{"auto", Addressing::automatic},
                                           {"path", Addressing::path},
                                           {"virtual", Addressing::virtual_host}});
  options.dualstack = switched_on(config, "use_dualstack", "AWS_USE_DUALSTACK_ENDPOINT");
  options.fips = switched_on(config, "use_fips", "AWS_USE_FIPS_ENDPOINT");
  options.credentials = credentials_in(config);
  options.anonymous = flag(config, "anonymous").value_or(false);
  options.profile = text(config, "profile");
  options.checksum =
      chosen<Checksum>(config, "checksum", {{"crc32c", Checksum::crc32c}, {"md5", Checksum::md5}});
  options.sign_payload = flag(config, "sign_payload");
  options.requester_pays = flag(config, "requester_pays").value_or(false);
  options.sse = text(config, "sse");
  options.sse_kms_key_id = text(config, "sse_kms_key_id");
  if (!options.sse_kms_key_id.empty() && !options.sse.starts_with("aws:kms"))
    refuse("sse_kms_key_id is for \"sse\": \"aws:kms\" or \"aws:kms:dsse\"");
  options.storage_class = text(config, "storage_class");
  options.tls = tls_of(config, logger);
  return options;
}

}  // namespace det::cloud
