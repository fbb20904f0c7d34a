#include "core/cloud/s3/sts.h"

#include "core/base/clock.h"
#include "core/base/environment.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/percent.h"
#include "core/base/printable.h"
#include "core/cloud/digest.h"
#include "core/cloud/s3/credential_service.h"
#include "core/cloud/s3/sigv4.h"
#include "core/cloud/xml.h"

namespace det::cloud {

namespace {

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
    const XmlAnswer answer(body, "ErrorResponse", "its answer");
    const pugi::xml_node error = answer.root().child("Error");
    return " " + printable(answer.text(error, "Code") + ": " + answer.text(error, "Message"));
  } catch (const Error &) {
    return "";
  }
}

CredentialSource::Lease ask(const std::string &action, const RoleRequest &role,
                            http::HttpRequest request, const CredentialSettings &settings) {
  const std::string source = "AWS' token service for the role '" + role.role_arn + "'";
  const http::HttpAnswer answer =
      ask_service({"AWS' token service", settings.tls}, std::move(request), settings.logger);
  if (answer.status != 200)
    refuse_aws_credentials(source,
                           "it answered " + std::to_string(answer.status) + reason_in(answer.body));
  try {
    const XmlAnswer xml(answer.body, action + "Response", "its answer");
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

}  // namespace

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

}  // namespace det::cloud
