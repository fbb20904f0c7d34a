#include "core/base/environment.h"
#include "core/cloud/s3/aws_profiles.h"
#include "core/cloud/s3/credential_service.h"
#include "core/cloud/s3/credential_sources.h"

namespace det::cloud {

namespace {

// None itself: a profile that somebody chose and that is not there must not lead to the credentials
// of somebody else, further down.
class ProfileThere : public CredentialSource {
 public:
  explicit ProfileThere(std::string profile) : profile_(std::move(profile)) {}

  std::optional<Lease> load() override {
    if (!AwsProfiles::load().has(profile_))
      refuse_aws_credentials("the profile '" + profile_ + "'",
                             "there is no such profile in ~/.aws/config and " +
                                 AwsProfiles::credentials_path().string() + "; correct its name");
    return std::nullopt;
  }

 private:
  const std::string profile_;
};

}  // namespace

std::shared_ptr<CredentialChain> credential_chain(const S3Options &options,
                                                  const std::shared_ptr<Logger> &logger) {
  if (options.anonymous) return nullptr;
  std::vector<std::unique_ptr<CredentialSource>> sources;
  if (options.credentials) {
    sources.push_back(given_credentials(*options.credentials));
    return std::make_shared<CredentialChain>(std::move(sources));
  }
  const CredentialSettings settings{AwsProfiles::chosen_name(options.profile), options.region,
                                    options.tls, logger};
  const bool is_chosen = !options.profile.empty() || !environment_variable("AWS_PROFILE").empty() ||
                         !environment_variable("AWS_DEFAULT_PROFILE").empty();
  // Who names a profile in checkpoint_storage means it, whatever the environment says.
  if (options.profile.empty()) sources.push_back(environment_credentials());
  if (is_chosen) sources.push_back(std::make_unique<ProfileThere>(settings.profile));
  sources.push_back(role_credentials(settings));
  sources.push_back(web_identity_credentials(settings));
  sources.push_back(sso_credentials(settings));
  sources.push_back(shared_file_credentials(settings));
  sources.push_back(process_credentials(settings));
  sources.push_back(config_file_credentials(settings));
  sources.push_back(container_credentials(settings));
  sources.push_back(instance_credentials(settings));
  return std::make_shared<CredentialChain>(std::move(sources));
}

}  // namespace det::cloud
