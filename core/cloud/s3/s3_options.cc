#include "core/cloud/s3/s3_options.h"

#include <algorithm>
#include <initializer_list>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/cloud/s3/aws_profiles.h"
#include "core/cloud/storage_fields.h"
#include "core/cloud/url_host.h"

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

http::HttpOptions S3Options::http() const {
  http::HttpOptions options;
  options.peer = {"the object store",
                  "give the certificate of its authority in ca_bundle or AWS_CA_BUNDLE"};
  options.http2 = false;  // many connections carry more than the streams of one
  options.tls = tls;
  options.proxy = http::ProxyOptions::from_environment();
  options.answer_limit = size_t{64} << 20U;
  return options;
}

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

namespace {

std::string checked_endpoint(std::string url) {
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  // A user and a password would be repeated in messages.
  if (!url.empty() && (!is_http || url.find_first_of("?#@ ") != url.npos))
    throw Error(
        Code::invalid,
        "reading checkpoint_storage: the endpoint of S3 (endpoint_url, AWS_ENDPOINT_URL_S3) "
        "must be like https://host:port, without user, password and query");
  while (url.ends_with('/')) url.pop_back();
  return url;
}

// As a part of a host's name. A dot would not fit the certificate *.s3.amazonaws.com, and capitals,
// which very old buckets have, would be lost.
bool fits_host(const std::string &name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool is_in_host(const S3Options &options) {
  using Addressing = S3Options::Addressing;
  if (options.addressing != Addressing::automatic)
    return options.addressing == Addressing::virtual_host;
  return options.endpoint_url.empty() && fits_host(options.bucket);
}

// Of the partition of AWS that the region is in.
std::string suffix_of(const std::string &region) {
  if (region.starts_with("cn-")) return "amazonaws.com.cn";
  if (region.starts_with("us-iso-")) return "c2s.ic.gov";
  if (region.starts_with("us-isob-")) return "sc2s.sgov.gov";
  return "amazonaws.com";
}

// Answers may come from anywhere.
bool is_region(const std::string &name) {
  return !name.empty() && name.size() <= 40 && fits_host(name);
}

}  // namespace

S3Endpoint::S3Endpoint(const S3Options &options)
    : bucket_(options.bucket),
      custom_(checked_endpoint(options.endpoint_url)),
      in_host_(is_in_host(options)),
      is_local_(!in_host_ && is_loopback(host_of(custom_))),
      dualstack_(options.dualstack),
      fips_(options.fips),
      region_(options.region.empty() ? "us-east-1" : options.region) {
  if (custom_.empty() && !is_region(region_))
    throw Error(Code::invalid, "reading checkpoint_storage: '" + region_ +
                                   "' is no region; set one like us-east-1 (region, AWS_REGION)");
}

std::string S3Endpoint::region() const {
  const std::lock_guard lock(mutex_);
  return region_;
}

bool S3Endpoint::move_to(const std::string &region) {
  const std::lock_guard lock(mutex_);
  if (region == region_ || !is_region(region)) return false;
  region_ = region;
  return true;
}

std::string S3Endpoint::url(const std::string &path) const {
  std::string base = custom_;
  if (base.empty()) {
    const std::string region = this->region();
    base = std::string("https://s3") + (fips_ ? "-fips" : "") + (dualstack_ ? ".dualstack" : "") +
           "." + region + "." + suffix_of(region);
  }
  if (!in_host_) return base + "/" + bucket_ + path;
  return base.insert(base.find("://") + 3, bucket_ + ".") + path;
}

}  // namespace det::cloud
