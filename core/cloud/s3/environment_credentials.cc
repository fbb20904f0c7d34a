#include "core/base/environment.h"
#include "core/cloud/s3/credential_sources.h"

namespace det::cloud {

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

}  // namespace det::cloud
