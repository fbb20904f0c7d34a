#include "core/base/run_command.h"
#include "core/cloud/s3/aws_profiles.h"
#include "core/cloud/s3/credential_service.h"
#include "core/cloud/s3/credential_sources.h"

namespace det::cloud {

namespace {

constexpr std::chrono::minutes longest_run{1};

class FromProcess : public CredentialSource {
 public:
  explicit FromProcess(CredentialSettings settings) : settings_(std::move(settings)) {}

  std::optional<Lease> load() override {
    const std::string command = AwsProfiles::load().value(settings_.profile, "credential_process");
    if (command.empty()) return std::nullopt;
    const std::string source = "the credential_process of the profile '" + settings_.profile + "'";
    const CommandResult result = run_command(command, {}, longest_run);
    if (result.status != 0)
      refuse_aws_credentials(source, "it ended with status " + std::to_string(result.status) +
                                         "; what it says of that is in standard error");
    return credentials_in(result.output,
                          {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}, source);
  }

 private:
  const CredentialSettings settings_;
};

}  // namespace

std::unique_ptr<CredentialSource> process_credentials(CredentialSettings settings) {
  return std::make_unique<FromProcess>(std::move(settings));
}

}  // namespace det::cloud
