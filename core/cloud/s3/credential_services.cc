#include "core/cloud/s3/s3_credentials.h"

#include <arpa/inet.h>
#include <algorithm>
#include <charconv>
#include <string>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/base/text/percent.h"
#include "core/base/text/printable.h"
#include "core/cloud/digest.h"
#include "core/cloud/s3/aws_profiles.h"
#include "core/cloud/s3/sigv4.h"
#include "core/cloud/storage_fields.h"
#include "core/cloud/url_host.h"
#include "core/cloud/xml.h"
#include "core/http/http_client.h"

// Services that give credentials: what is asked of them, and what they answer.
namespace det::cloud {

namespace {

using Clock = Refreshable<Credentials>::Clock;

// As text, or in milliseconds since 1970; for ever where it stands nowhere.
Clock::time_point end_in(const Json &answer, const char *key, const std::string &source) {
  const auto found = answer.find(key);
  if (found == answer.end() || found->is_null()) return Clock::time_point::max();
  std::optional<int64_t> time_us;
  if (found->is_string()) time_us = parse_iso8601(found->get<std::string>());
  else if (found->is_number_integer()) time_us = found->get<int64_t>() * 1000;
  if (!time_us) refuse_aws_credentials(source, "it does not say when they end");
  return Clock::time_point(std::chrono::microseconds{*time_us});
}

// How such a service is reached.
struct ServiceAccess {
  std::string name;  // for messages: "the metadata service of this machine"
  http::TlsOptions tls{};
  bool is_local = false;  // then no proxy is asked, and it answers at once or never
  int attempts = 3;
  std::chrono::milliseconds patience{10'000};  // of each
};

// Blocks. Gives answers of any status; throws Code::unavailable or Code::timeout without one.
http::HttpResponse ask_service(const ServiceAccess &service, http::HttpRequest request,
                               const std::shared_ptr<Logger> &logger) {
  http::HttpOptions options;
  options.peer = {service.name,
                  "give the certificate of its authority in ca_bundle or AWS_CA_BUNDLE"};
  options.tls = service.tls;
  if (!service.is_local) options.proxy = http::ProxyOptions::from_environment();
  options.answer_limit = size_t{1} << 20U;
  options.retry.total = service.attempts - 1;
  options.retry.backoff = std::chrono::milliseconds{200};
  options.retry.backoff_limit = std::chrono::seconds{2};
  options.retry.statuses = {429, 502, 503, 504};
  request.replay = http::Replay::safe;
  request.connect_timeout = request.timeout = service.patience;
  return http::HttpClient(std::move(options), logger).perform(std::move(request));
}

constexpr CredentialNames metadata_names{"AccessKeyId", "SecretAccessKey", "Token", "Expiration"};

}  // namespace

CredentialSource::Lease credentials_in(const std::string &text, const CredentialNames &names,
                                       const std::string &source) {
  Json answer;
  try {
    answer = parse_json_object(text, "credentials");
  } catch (const Error &) {
    refuse_aws_credentials(source, "what it says is no JSON object");  // the error would quote it
  }
  return credentials_in(answer, names, source);
}

CredentialSource::Lease credentials_in(const Json &answer, const CredentialNames &names,
                                       const std::string &source) {
  CredentialSource::Lease lease{{optional_text(answer, names.access_key),
                                 optional_text(answer, names.secret_key),
                                 optional_text(answer, names.session_token), source}};
  if (lease.value.access_key.empty() || lease.value.secret_key.empty())
    refuse_aws_credentials(
        source, "it gives no " + std::string(names.access_key) + " and " + names.secret_key);
  lease.ends = end_in(answer, names.ends, source);
  if (lease.ends <= Clock::now()) refuse_aws_credentials(source, "those that it gives have ended");
  return lease;
}

void refuse_aws_credentials(const std::string &source, const std::string &why) {
  throw Error(Code::access, "asking " + source + " for credentials: " + why);
}

namespace {

// Whether nobody on the way to that host can read along: this machine, and what stands beside it.
bool is_near(const std::string &host) {
  in_addr number{};
  const bool is_link_local = inet_pton(AF_INET, host.c_str(), &number) == 1 &&
                             ntohl(number.s_addr) >> 16U == 0xA9FE;  // 169.254.0.0/16
  return is_link_local || is_loopback(host) || host == "fd00:ec2::23";
}

std::string url_of_service() {
  if (const std::string path = environment_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
      !path.empty())
    return "http://169.254.170.2" + path;
  const std::string url = environment_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const bool is_sound =
      url.starts_with("https://") || (url.starts_with("http://") && is_near(host_of(url)));
  if (!url.empty() && (!is_sound || url.find('@') != url.npos))
    refuse_aws_credentials(
        "the container's endpoint",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https://, or name this "
        "machine: credentials would go over the network for everybody to read");
  return url;
}

std::string token() {
  std::string text = environment_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string path = environment_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      !path.empty())
    text = read_file(path);  // each time: it is renewed too
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

class FromContainer : public CredentialSource {
 public:
  explicit FromContainer(CredentialSettings settings) : settings_(std::move(settings)) {}

  std::optional<Lease> load() override {
    const std::string url = url_of_service();
    if (url.empty()) return std::nullopt;
    const std::string source = "the container's endpoint";
    http::HttpRequest request{.url = url, .headers = {{"Accept", "application/json"}}};
    if (std::string said = token(); !said.empty())
      request.headers.push_back({"Authorization", std::move(said)});
    const ServiceAccess service{source, settings_.tls, url.starts_with("http:"), 3,
                                std::chrono::seconds{2}};
    const http::HttpResponse answer = ask_service(service, std::move(request), settings_.logger);
    if (answer.status != 200)
      refuse_aws_credentials(source, "it answered " + std::to_string(answer.status));
    return credentials_in(answer.body, metadata_names, source);
  }

 private:
  const CredentialSettings settings_;
};

}  // namespace

std::unique_ptr<CredentialSource> container_credentials(CredentialSettings settings) {
  return std::make_unique<FromContainer>(std::move(settings));
}

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
      const http::HttpResponse roles = get(roles_path);
      if (roles.status != 200) return std::nullopt;  // the instance has none
      role = roles.body.substr(0, roles.body.find('\n'));
    } catch (const Error &e) {
      if (e.code != Code::unavailable && e.code != Code::timeout) throw;
      settings_.logger->debug(e.what());
      return std::nullopt;
    }
    if (role.empty()) return std::nullopt;
    const http::HttpResponse answer = get(roles_path + role);
    if (answer.status != 200)
      refuse_aws_credentials(source,
                             "it answered " + std::to_string(answer.status) + " for its role");
    return credentials_in(answer.body, metadata_names, source);
  }

 private:
  http::HttpResponse ask(http::HttpRequest request) const {
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
      const http::HttpResponse answer = ask(std::move(request));
      if (answer.status == 200) token_ = answer.body;
      else if (answer.status == 400 || only_version_2)
        refuse_aws_credentials(source,
                               "it answered " + std::to_string(answer.status) + " for a token");
    } catch (const Error &e) {
      if (e.code != Code::timeout || only_version_2) throw;
    }
  }

  http::HttpResponse get(const std::string &path) const {
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
    const http::HttpResponse answer =
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
    const auto ends = parse_iso8601(optional_text(kept, "expiresAt"));
    if (optional_text(kept, "accessToken").empty() || !ends || *ends <= now_us())
      refuse_aws_credentials(source, "the login has ended" + remedy);
    return optional_text(kept, "accessToken");
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

// AWS' service that gives credentials for a role.
namespace {

struct RoleRequest {
  std::string role_arn;
  std::string session_name;  // empty: one of ours
  std::string external_id;   // may be empty
  int duration_s = 3600;
};

std::string region_of(const CredentialSettings &settings) {
  return settings.region.empty() ? "us-east-1" : settings.region;
}

std::string endpoint_of(const CredentialSettings &settings) {
  for (const char *variable : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"})
    if (std::string given = environment_variable(variable); !given.empty())
      return given.ends_with('/') ? given : given + "/";
  const std::string region = region_of(settings);
  return "https://sts." + region +
         (region.starts_with("cn-") ? ".amazonaws.com.cn/" : ".amazonaws.com/");
}

std::string form_of(const std::string &action, const RoleRequest &role) {
  const std::string session = role.session_name.empty() ? "detcore" : role.session_name;
  std::string form = "Action=" + action +
                     "&Version=2011-06-15&RoleArn=" + percent_encoded(role.role_arn) +
                     "&RoleSessionName=" + percent_encoded(session) +
                     "&DurationSeconds=" + std::to_string(role.duration_s);
  if (!role.external_id.empty()) form += "&ExternalId=" + percent_encoded(role.external_id);
  return form;
}

http::HttpRequest request_of(const CredentialSettings &settings, std::string form) {
  http::HttpRequest request{.method = "POST", .url = endpoint_of(settings)};
  request.headers.push_back({"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"});
  request.body = std::move(form);
  return request;
}

std::string reason_in(const std::string &body) {
  try {
    const XmlDocument answer(body, "ErrorResponse", "its answer");
    const pugi::xml_node error = answer.root().child("Error");
    return " " + printable(answer.text(error, "Code") + ": " + answer.text(error, "Message"));
  } catch (const Error &) {
    return "";
  }
}

CredentialSource::Lease ask(const std::string &action, const RoleRequest &role,
                            http::HttpRequest request, const CredentialSettings &settings) {
  const std::string source = "AWS' token service for the role '" + role.role_arn + "'";
  const http::HttpResponse answer =
      ask_service({"AWS' token service", settings.tls}, std::move(request), settings.logger);
  if (answer.status != 200)
    refuse_aws_credentials(source,
                           "it answered " + std::to_string(answer.status) + reason_in(answer.body));
  try {
    const XmlDocument xml(answer.body, action + "Response", "its answer");
    const pugi::xml_node found = xml.root().child((action + "Result").c_str()).child("Credentials");
    const Json keys{{"AccessKeyId", xml.text(found, "AccessKeyId")},
                    {"SecretAccessKey", xml.text(found, "SecretAccessKey")},
                    {"SessionToken", xml.text(found, "SessionToken")},
                    {"Expiration", xml.text(found, "Expiration")}};
    return credentials_in(keys, {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"},
                          source);
  } catch (const Error &e) {
    if (e.code != Code::corrupt) throw;
    refuse_aws_credentials(source, e.what());
  }
}

// These block, and throw Code::access with what the service says.
CredentialSource::Lease assume_role(const RoleRequest &role, const Credentials &who,
                                    const CredentialSettings &settings) {
  http::HttpRequest request = request_of(settings, form_of("AssumeRole", role));
  SigV4 signer("sts");
  signer.sign(request, who, region_of(settings), now_us() / 1'000'000,
              to_hex(sha256(request.body)));
  return ask("AssumeRole", role, std::move(request), settings);
}

CredentialSource::Lease assume_role_by_token(const RoleRequest &role, const std::string &token_file,
                                             const CredentialSettings &settings) {
  std::string token = read_file(token_file);  // each time: it is renewed too
  while (token.ends_with('\n')) token.pop_back();
  const std::string action = "AssumeRoleWithWebIdentity";
  return ask(
      action, role,
      request_of(settings, form_of(action, role) + "&WebIdentityToken=" + percent_encoded(token)),
      settings);
}

}  // namespace

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
      refuse_aws_credentials(name_of(settings_.profile), "its credential_source has none");
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
