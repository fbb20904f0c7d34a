#include <sys/stat.h>

#include <array>

#include "core/cloud/s3/aws_profiles.h"
#include "core/cloud/s3/credential_service.h"
#include "core/cloud/s3/credential_sources.h"

namespace det::cloud {

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

}  // namespace det::cloud
