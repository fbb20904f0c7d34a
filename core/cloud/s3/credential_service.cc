#include "core/cloud/s3/credential_service.h"

#include "core/base/clock.h"
#include "core/base/json.h"

namespace det::cloud {

namespace {

using Clock = Renewed<Credentials>::Clock;

std::string text_in(const Json &answer, const char *key) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
}

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

}  // namespace

http::HttpAnswer ask_service(const ServiceAccess &service, http::HttpRequest request,
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
  CredentialSource::Lease lease{{text_in(answer, names.access_key),
                                 text_in(answer, names.secret_key),
                                 text_in(answer, names.session_token), source}};
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

}  // namespace det::cloud
