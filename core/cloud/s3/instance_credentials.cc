#include "core/base/environment.h"
#include "core/cloud/s3/credential_service.h"
#include "core/cloud/s3/credential_sources.h"

namespace det::cloud {

namespace {

constexpr const char *roles_path = "/latest/meta-data/iam/security-credentials/";
constexpr const char *source = "the metadata service of this machine";

bool is_true(const char *variable) {
  const std::string value = environment_variable(variable);
  return value == "true" || value == "True" || value == "TRUE" || value == "1";
}

std::string endpoint() {
  std::string given = environment_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  while (given.ends_with('/')) given.pop_back();
  if (!given.empty()) return given;
  const std::string mode = environment_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
  return mode == "IPv6" || mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
}

// By the service that every EC2 instance sees. Elsewhere nobody answers, or somebody else does.
class FromInstance : public CredentialSource {
 public:
  explicit FromInstance(CredentialSettings settings) : settings_(std::move(settings)) {}

  std::optional<Lease> load() override {
    if (is_true("AWS_EC2_METADATA_DISABLED")) return std::nullopt;
    std::string role;
    try {
      take_token();
      const http::HttpAnswer roles = get(roles_path);
      if (roles.status != 200) return std::nullopt;  // the instance has none
      role = roles.body.substr(0, roles.body.find('\n'));
    } catch (const Error &e) {
      if (e.code != Code::unavailable && e.code != Code::timeout) throw;
      settings_.logger->debug(e.what());
      return std::nullopt;
    }
    if (role.empty()) return std::nullopt;
    const http::HttpAnswer answer = get(roles_path + role);
    if (answer.status != 200)
      refuse_aws_credentials(source,
                             "it answered " + std::to_string(answer.status) + " for its role");
    return credentials_in(answer.body, metadata_names, source);
  }

 private:
  http::HttpAnswer ask(http::HttpRequest request) const {
    const int attempts =
        static_cast<int>(environment_integer("AWS_METADATA_SERVICE_NUM_ATTEMPTS").value_or(1));
    const std::chrono::seconds patience{
        environment_integer("AWS_METADATA_SERVICE_TIMEOUT").value_or(1)};
    return ask_service({source, {}, true, std::max(attempts, 1), patience}, std::move(request),
                       settings_.logger);
  }

  // Of version 2 of the service. In a container, whose packets go one hop more than the token may,
  // no answer comes: version 1 asks for none, where it is allowed.
  void take_token() {
    http::HttpRequest request{.method = "PUT", .url = endpoint() + "/latest/api/token"};
    request.headers.push_back({"X-aws-ec2-metadata-token-ttl-seconds", "21600"});
    token_.clear();
    const bool only_version_2 = is_true("AWS_EC2_METADATA_V1_DISABLED");
    try {
      const http::HttpAnswer answer = ask(std::move(request));
      if (answer.status == 200) token_ = answer.body;
      else if (answer.status == 400 || only_version_2)
        refuse_aws_credentials(source,
                               "it answered " + std::to_string(answer.status) + " for a token");
    } catch (const Error &e) {
      if (e.code != Code::timeout || only_version_2) throw;
    }
  }

  http::HttpAnswer get(const std::string &path) const {
    http::HttpRequest request{.url = endpoint() + path};
    if (!token_.empty()) request.headers.push_back({"X-aws-ec2-metadata-token", token_});
    return ask(std::move(request));
  }

  const CredentialSettings settings_;
  std::string token_;
};

}  // namespace

std::unique_ptr<CredentialSource> instance_credentials(CredentialSettings settings) {
  return std::make_unique<FromInstance>(std::move(settings));
}

}  // namespace det::cloud
