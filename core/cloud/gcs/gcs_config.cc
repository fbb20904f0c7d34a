#include "core/cloud/gcs/gcs_config.h"

#include "core/base/process/environment.h"
#include "core/cloud/storage_fields.h"
#include "core/storage/storage_location.h"

namespace det::cloud {

namespace {

constexpr const char *default_universe = "googleapis.com";

bool has_scheme(const std::string &text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

}  // namespace

GcsConfig gcs_config(const Json &config) {
  const StorageFields fields(config,
                             {"bucket", "prefix", "endpoint_url", "universe_domain", "user_project",
                              "kms_key_name", "storage_class", "anonymous"});
  GcsConfig read;
  read.bucket = fields.required_text("bucket");
  if (read.bucket.find('/') != read.bucket.npos)
    fields.refuse("'bucket' must be a name alone; what follows it goes into 'prefix'");
  read.prefix = storage::normalized_prefix(fields.text("prefix"));
  read.universe = fields.text("universe_domain");
  if (read.universe.empty()) read.universe = default_universe;
  read.user_project = fields.text("user_project");
  read.kms_key = fields.text("kms_key_name");
  read.storage_class = fields.text("storage_class");
  read.anonymous = fields.flag("anonymous").value_or(false);
  read.endpoint = fields.text("endpoint_url");
  if (!read.endpoint.empty() && !has_scheme(read.endpoint))
    fields.refuse("'endpoint_url' must begin with http:// or https://");
  const std::string emulator = environment_variable("STORAGE_EMULATOR_HOST");
  if (read.endpoint.empty() && !emulator.empty()) {
    read.endpoint = has_scheme(emulator) ? emulator : "http://" + emulator;
    read.anonymous = true;
  }
  if (read.endpoint.empty()) read.endpoint = "https://storage." + read.universe;
  while (read.endpoint.ends_with('/')) read.endpoint.pop_back();
  read.http.peer = {"Google Cloud Storage",
                    "give the certificates that it is to be trusted by in ca_bundle"};
  read.http.proxy = http::ProxyOptions::from_environment();
  read.http.tls = fields.tls();
  return read;
}

}  // namespace det::cloud
