#include "core/cloud/s3/s3_credentials.h"

#include <sys/stat.h>
#include <array>

#include "core/base/process/environment.h"
#include "core/base/process/run_command.h"
#include "core/cloud/s3/aws_profiles.h"
#include "core/cloud/s3/s3_options.h"

namespace det::cloud {

CredentialChain::CredentialChain(std::vector<std::unique_ptr<CredentialSource>> sources)
    : sources_(std::move(sources)), credentials_([this] { return load(); }) {}

Credentials CredentialChain::get() { return credentials_.get(); }

CredentialSource::Lease CredentialChain::load() {
  if (found_in_ != nullptr)
    if (auto lease = found_in_->load()) return *std::move(lease);
  for (const auto &source : sources_)
    if (auto lease = source->load()) {
      found_in_ = source.get();
      return *std::move(lease);
    }
  throw Error(Code::access,
              "looking for credentials of S3: none found; set AWS_ACCESS_KEY_ID and "
              "AWS_SECRET_ACCESS_KEY, choose a profile with AWS_PROFILE, or give access_key and "
              "secret_key in checkpoint_storage");
}

namespace {

class Given : public CredentialSource {
 public:
  explicit Given(Credentials credentials) : credentials_(std::move(credentials)) {}
  std::optional<Lease> load() override { return Lease{credentials_}; }

 private:
  const Credentials credentials_;
};

class FromEnvironment : public CredentialSource {
 public:
  std::optional<Lease> load() override {
    Credentials found{environment_variable("AWS_ACCESS_KEY_ID"),
                      environment_variable("AWS_SECRET_ACCESS_KEY"),
                      environment_variable("AWS_SESSION_TOKEN"), "the environment"};
    if (found.access_key.empty() && found.secret_key.empty()) return std::nullopt;
    if (found.access_key.empty() || found.secret_key.empty())
      throw Error(Code::access,
                  "looking for credentials of S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must "
                  "both be set, or neither of them");
    return Lease{std::move(found)};
  }
};

}  // namespace

std::unique_ptr<CredentialSource> given_credentials(Credentials credentials) {
  return std::make_unique<Given>(std::move(credentials));
}

std::unique_ptr<CredentialSource> environment_credentials() {
  return std::make_unique<FromEnvironment>();
}

namespace {

constexpr std::chrono::seconds look_again{2};

std::string value_in(const IniSection &section, const char *key) {
  const auto found = section.find(key);
  return found == section.end() ? "" : found->second;
}

// Nothing where the section has no keys. One without the other is a mistake.
std::optional<Credentials> keys_in(const IniSection &section, const std::string &source) {
  Credentials found{value_in(section, "aws_access_key_id"),
                    value_in(section, "aws_secret_access_key"),
                    value_in(section, "aws_session_token"), source};
  if (found.session_token.empty()) found.session_token = value_in(section, "aws_security_token");
  if (found.access_key.empty() && found.secret_key.empty()) return std::nullopt;
  if (found.access_key.empty() || found.secret_key.empty())
    refuse_aws_credentials(source,
                           "aws_access_key_id and aws_secret_access_key must both be there");
  return found;
}

class SharedFile : public CredentialSource {
 public:
  explicit SharedFile(CredentialSettings settings) : settings_(std::move(settings)) {}

  // While somebody writes the file there may be half of it: what was there before is kept.
  std::optional<Lease> load() override {
    const Stamp stamp = stamp_now();
    if (!known_ || stamp != stamp_) try {
        std::optional<Credentials> found = read();
        if (found || !known_) known_ = std::move(found);
        stamp_ = stamp;
      } catch (const Error &e) {
        if (!known_) throw;
        settings_.logger->warning(e.what());
      }
    if (!known_) return std::nullopt;
    return Lease{*known_, std::chrono::system_clock::now() + look_again};
  }

 private:
  using Stamp = std::array<int64_t, 4>;  // what changes with the file

  static Stamp stamp_now() {
    struct stat facts {};
    stat(AwsProfiles::credentials_path().c_str(), &facts);
    return {facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, static_cast<int64_t>(facts.st_ino),
            facts.st_size};
  }

  std::optional<Credentials> read() const {
    return keys_in(
        AwsProfiles::load().in_credentials(settings_.profile),
        "the profile '" + settings_.profile + "' of " + AwsProfiles::credentials_path().string());
  }

  const CredentialSettings settings_;
  std::optional<Credentials> known_;
  Stamp stamp_{};
};

class ConfigFile : public CredentialSource {
 public:
  explicit ConfigFile(CredentialSettings settings) : settings_(std::move(settings)) {}

  std::optional<Lease> load() override {
    const AwsProfiles profiles = AwsProfiles::load();
    auto found = keys_in(profiles.in_config(settings_.profile),
                         "the profile '" + settings_.profile + "' of AWS' config file");
    if (!found) return std::nullopt;
    return Lease{*std::move(found), std::chrono::system_clock::now() + look_again};
  }

 private:
  const CredentialSettings settings_;
};

}  // namespace

std::unique_ptr<CredentialSource> shared_file_credentials(CredentialSettings settings) {
  return std::make_unique<SharedFile>(std::move(settings));
}

std::unique_ptr<CredentialSource> config_file_credentials(CredentialSettings settings) {
  return std::make_unique<ConfigFile>(std::move(settings));
}

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
