#include "core/base/clock.h"
#include "core/base/environment.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/percent.h"
#include "core/cloud/digest.h"
#include "core/cloud/s3/aws_profiles.h"
#include "core/cloud/s3/credential_service.h"
#include "core/cloud/s3/credential_sources.h"

namespace det::cloud {

namespace {

// What a profile says of the login.
struct Login {
  std::string account, role;
  std::string region;
  std::string named;  // what AWS' tools call the file of the token after
};

std::optional<Login> login_of(const AwsProfiles &profiles, const std::string &profile) {
  Login login{profiles.value(profile, "sso_account_id"), profiles.value(profile, "sso_role_name"),
              profiles.value(profile, "sso_region"), profiles.value(profile, "sso_start_url")};
  if (login.account.empty() || login.role.empty()) return std::nullopt;
  if (const std::string session = profiles.value(profile, "sso_session"); !session.empty()) {
    login.region = profiles.section_value("sso-session " + session, "sso_region");
    login.named = session;
  }
  if (login.region.empty() || login.named.empty())
    refuse_aws_credentials(
        "the profile '" + profile + "'",
        "it needs sso_region and sso_start_url, or an sso_session that has them");
  return login;
}

class FromSso : public CredentialSource {
 public:
  explicit FromSso(CredentialSettings settings) : settings_(std::move(settings)) {}

  std::optional<Lease> load() override {
    const auto login = login_of(AwsProfiles::load(), settings_.profile);
    if (!login) return std::nullopt;
    const std::string source = "AWS' single sign-on (the profile '" + settings_.profile + "')";
    const std::string remedy = "; log in: aws sso login --profile " + settings_.profile;
    std::string endpoint = environment_variable("AWS_ENDPOINT_URL_SSO");
    if (endpoint.empty()) endpoint = "https://portal.sso." + login->region + ".amazonaws.com";
    http::HttpRequest request{
        .url = endpoint + "/federation/credentials?account_id=" + percent_encoded(login->account) +
               "&role_name=" + percent_encoded(login->role)};
    request.headers.push_back({"x-amz-sso_bearer_token", token(*login, source, remedy)});
    const http::HttpAnswer answer =
        ask_service({"AWS' single sign-on", settings_.tls}, std::move(request), settings_.logger);
    if (answer.status != 200)
      refuse_aws_credentials(source, "it answered " + std::to_string(answer.status) + remedy);
    return keys_in(answer.body, source);
  }

 private:
  static std::string token(const Login &login, const std::string &source,
                           const std::string &remedy) {
    const auto path = home_directory() / ".aws/sso/cache" / (to_hex(sha1(login.named)) + ".json");
    std::error_code none;
    if (!std::filesystem::exists(path, none))
      refuse_aws_credentials(source, "nobody has logged in" + remedy);
    Json kept;
    try {
      kept = parse_json_object(read_file(path), "the token");
    } catch (const Error &) {
      refuse_aws_credentials(source, "what is kept of the login cannot be read" + remedy);
    }
    const auto text = [&](const char *key) {
      const auto found = kept.find(key);
      return found != kept.end() && found->is_string() ? found->get<std::string>() : "";
    };
    const auto ends = parse_iso8601(text("expiresAt"));
    if (text("accessToken").empty() || !ends || *ends <= now_us())
      refuse_aws_credentials(source, "the login has ended" + remedy);
    return text("accessToken");
  }

  static Lease keys_in(const std::string &body, const std::string &source) {
    Json answer;
    try {
      answer = parse_json_object(body, "the answer");
    } catch (const Error &) {
      refuse_aws_credentials(source, "what it says is no JSON object");
    }
    const auto found = answer.find("roleCredentials");
    if (found == answer.end() || !found->is_object())
      refuse_aws_credentials(source, "it gives no roleCredentials");
    return credentials_in(*found, {"accessKeyId", "secretAccessKey", "sessionToken", "expiration"},
                          source);
  }

  const CredentialSettings settings_;
};

}  // namespace

std::unique_ptr<CredentialSource> sso_credentials(CredentialSettings settings) {
  return std::make_unique<FromSso>(std::move(settings));
}

}  // namespace det::cloud
