#include <algorithm>
#include <charconv>

#include "core/base/environment.h"
#include "core/cloud/s3/aws_profiles.h"
#include "core/cloud/s3/credential_service.h"
#include "core/cloud/s3/credential_sources.h"
#include "core/cloud/s3/sts.h"

namespace det::cloud {

namespace {

std::string name_of(const std::string &profile) { return "the profile '" + profile + "'"; }

RoleRequest role_in(const AwsProfiles &profiles, const std::string &profile) {
  RoleRequest role{profiles.value(profile, "role_arn"),
                   profiles.value(profile, "role_session_name"),
                   profiles.value(profile, "external_id")};
  const std::string duration = profiles.value(profile, "duration_seconds");
  if (!duration.empty() &&
      std::from_chars(duration.data(), duration.data() + duration.size(), role.duration_s).ec !=
          std::errc())
    refuse_aws_credentials(name_of(profile), "its duration_seconds is no number");
  if (!profiles.value(profile, "mfa_serial").empty())
    refuse_aws_credentials(
        name_of(profile),
        "its role wants a code (mfa_serial), which nobody is there to type; take it "
        "on with AWS' tools, and give its keys in the environment");
  return role;
}

class FromRole : public CredentialSource {
 public:
  FromRole(CredentialSettings settings, std::vector<std::string> below)
      : settings_(std::move(settings)), below_(std::move(below)) {}

  std::optional<Lease> load() override {
    const AwsProfiles profiles = AwsProfiles::load();
    const std::string &name = settings_.profile;
    if (profiles.value(name, "role_arn").empty()) return std::nullopt;
    const RoleRequest role = role_in(profiles, name);
    if (const std::string file = profiles.value(name, "web_identity_token_file"); !file.empty())
      return assume_role_by_token(role, file, settings_);
    const std::string from = profiles.value(name, "source_profile");
    const std::string place = profiles.value(name, "credential_source");
    if (from.empty() == place.empty())
      refuse_aws_credentials(
          name_of(name), "a profile with role_arn needs a source_profile or a credential_source");
    return assume_role(role, from.empty() ? of_place(place) : of_profile(profiles, from),
                       settings_);
  }

 private:
  Credentials of_place(const std::string &place) const {
    const std::unique_ptr<CredentialSource> source =
        place == "Environment"           ? environment_credentials()
        : place == "EcsContainer"        ? container_credentials(settings_)
        : place == "Ec2InstanceMetadata" ? instance_credentials(settings_)
                                         : nullptr;
    if (!source)
      refuse_aws_credentials(name_of(settings_.profile),
                             "its credential_source can be Environment, EcsContainer or "
                             "Ec2InstanceMetadata");
    auto lease = source->load();
    if (!lease)
      refuse_aws_credentials(name_of(settings_.profile), "there are none in its credential_source");
    return lease->value;
  }

  // A profile may be its own source: it has keys then. Any other circle has no end.
  Credentials of_profile(const AwsProfiles &profiles, const std::string &from) const {
    std::vector<std::string> below = below_;
    below.push_back(settings_.profile);
    if (!profiles.has(from)) refuse_aws_credentials(name_of(from), "there is no such profile");
    const bool is_itself = from == settings_.profile;
    if (!is_itself && std::find(below.begin(), below.end(), from) != below.end())
      refuse_aws_credentials(name_of(from), "it is its own source_profile, by way of others");
    CredentialSettings settings = settings_;
    settings.profile = from;
    std::vector<std::unique_ptr<CredentialSource>> sources;
    if (!is_itself) sources.push_back(role_credentials(settings, below));
    sources.push_back(sso_credentials(settings));
    sources.push_back(shared_file_credentials(settings));
    sources.push_back(process_credentials(settings));
    sources.push_back(config_file_credentials(settings));
    for (const auto &source : sources)
      if (auto lease = source->load()) return lease->value;
    refuse_aws_credentials(name_of(from), "it has none");
  }

  const CredentialSettings settings_;
  const std::vector<std::string> below_;
};

class FromWebIdentity : public CredentialSource {
 public:
  explicit FromWebIdentity(CredentialSettings settings) : settings_(std::move(settings)) {}

  std::optional<Lease> load() override {
    const std::string file = environment_variable("AWS_WEB_IDENTITY_TOKEN_FILE");
    if (file.empty()) return std::nullopt;
    const RoleRequest role{environment_variable("AWS_ROLE_ARN"),
                           environment_variable("AWS_ROLE_SESSION_NAME"), ""};
    if (role.role_arn.empty())
      refuse_aws_credentials("the web identity",
                             "AWS_WEB_IDENTITY_TOKEN_FILE is set, AWS_ROLE_ARN is not");
    return assume_role_by_token(role, file, settings_);
  }

 private:
  const CredentialSettings settings_;
};

}  // namespace

std::unique_ptr<CredentialSource> role_credentials(CredentialSettings settings,
                                                   std::vector<std::string> below) {
  return std::make_unique<FromRole>(std::move(settings), std::move(below));
}

std::unique_ptr<CredentialSource> web_identity_credentials(CredentialSettings settings) {
  return std::make_unique<FromWebIdentity>(std::move(settings));
}

}  // namespace det::cloud
