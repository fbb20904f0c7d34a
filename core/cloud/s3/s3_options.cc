#include "core/cloud/s3/s3_options.h"

#include <initializer_list>

#include "core/base/environment.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/cloud/s3/aws_profiles.h"
#include "core/cloud/storage_fields.h"

namespace det::cloud {

namespace {

// As the key says, else the first of the variables that says something, else the profile.
class Settings {
 public:
  explicit Settings(const StorageFields &fields)
      : fields_(fields),
        profile_(AwsProfiles::chosen_name(fields.text("profile"))),
        files_(AwsProfiles::load()) {}

  std::string setting(const char *key, std::initializer_list<const char *> variables,
                      const char *in_profile) const {
    std::string value = fields_.text(key);
    for (const char *variable : variables)
      if (value.empty()) value = environment_variable(variable);
    return value.empty() ? files_.value(profile_, in_profile) : value;
  }

  bool switched_on(const char *key, const char *variable, const char *in_profile) const {
    if (const auto given = fields_.flag(key)) return *given;
    std::string value = environment_variable(variable);
    if (value.empty()) value = files_.value(profile_, in_profile);
    return value == "true" || value == "True" || value == "TRUE" || value == "1";
  }

  std::string endpoint_url() const {
    const std::string given =
        setting("endpoint_url", {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "s3.endpoint_url");
    if (!given.empty() || environment_variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") == "true")
      return given;
    const std::string services = "services " + files_.value(profile_, "services");
    const std::string of_s3 = files_.section_value(services, "s3.endpoint_url");
    return of_s3.empty() ? files_.value(profile_, "endpoint_url") : of_s3;
  }

 private:
  const StorageFields &fields_;
  const std::string profile_;
  const AwsProfiles files_;
};

// The first is the usual one.
template <class Value>
Value chosen(const StorageFields &fields, const char *key, const std::string &given,
             std::initializer_list<std::pair<const char *, Value>> choices) {
  std::string names;
  for (const auto &[name, value] : choices) {
    if (given == name || given.empty()) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  fields.refuse("'" + std::string(key) + "' is '" + given + "'; it can be: " + names);
}

std::optional<Credentials> given_in(const StorageFields &fields) {
  Credentials given{fields.text("access_key"), fields.text("secret_key"),
                    fields.text("session_token"), "access_key of checkpoint_storage"};
  if (given.access_key.empty() != given.secret_key.empty())
    fields.refuse("give both access_key and secret_key, or none of them");
  if (given.access_key.empty() && !given.session_token.empty())
    fields.refuse("a session_token is nothing without access_key and secret_key");
  if (given.access_key.empty()) return std::nullopt;
  return given;
}

std::string bucket_in(const StorageFields &fields) {
  std::string name = fields.required_text("bucket");
  if (name.starts_with("arn:") || name.find_first_of("/?#") != name.npos)
    fields.refuse("'bucket' must be the name of a bucket, or the alias of an access point");
  return name;
}

http::TlsOptions tls_of(const StorageFields &fields, const Settings &settings, Logger &logger) {
  http::TlsOptions tls;
  tls.verify = fields.flag("verify").value_or(true);
  if (!tls.verify)
    logger.warning(
        "checkpoint_storage says \"verify\": false: anybody in between can read and change what "
        "goes to the bucket");
  const std::string bundle = settings.setting("ca_bundle", {"AWS_CA_BUNDLE"}, "ca_bundle");
  if (!bundle.empty()) tls.certificates = read_file(bundle);
  return tls;
}

}  // namespace

S3Options S3Options::from(const Json &config, Logger &logger) {
  const StorageFields fields(
      config, {"bucket", "prefix", "access_key", "secret_key", "endpoint_url",
               // Ours.
               "session_token", "profile", "anonymous", "region", "addressing_style",
               "use_dualstack", "use_fips", "requester_pays", "sse", "sse_kms_key_id",
               "storage_class", "checksum", "sign_payload", "verify"});
  const Settings settings(fields);
  S3Options options;
  options.bucket = bucket_in(fields);
  options.endpoint_url = settings.endpoint_url();
  options.region = settings.setting("region", {"AWS_REGION", "AWS_DEFAULT_REGION"}, "region");
  options.addressing = chosen<Addressing>(
      fields, "addressing_style", settings.setting("addressing_style", {}, "s3.addressing_style"),
      {{"auto", Addressing::automatic},
       {"path", Addressing::path},
       {"virtual", Addressing::virtual_host}});
  options.dualstack =
      settings.switched_on("use_dualstack", "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint");
  options.fips = settings.switched_on("use_fips", "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
  options.credentials = given_in(fields);
  options.anonymous = fields.flag("anonymous").value_or(false);
  options.profile = fields.text("profile");
  options.checksum = chosen<Checksum>(fields, "checksum", fields.text("checksum"),
                                      {{"crc32c", Checksum::crc32c}, {"md5", Checksum::md5}});
  options.sign_payload = fields.flag("sign_payload");
  options.requester_pays = fields.flag("requester_pays").value_or(false);
  options.sse = fields.text("sse");
  options.sse_kms_key_id = fields.text("sse_kms_key_id");
  if (!options.sse_kms_key_id.empty() && !options.sse.starts_with("aws:kms"))
    fields.refuse("sse_kms_key_id is for \"sse\": \"aws:kms\" or \"aws:kms:dsse\"");
  options.storage_class = fields.text("storage_class");
  options.tls = tls_of(fields, settings, logger);
  return options;
}

}  // namespace det::cloud
