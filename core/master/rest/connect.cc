#include "core/master/rest/connect.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/environment.h"
#include "core/config/certificates.h"
#include "core/master/rest/login.h"

namespace det::master {

namespace {

constexpr int user_retries = 5;

// An explicit file, else the variable, else what the user stored.
http::TlsOptions user_tls(const std::string &url, const std::string &cert_file, Logger &logger) {
  const std::string name = environment_variable("DET_MASTER_CERT_NAME");
  if (!cert_file.empty()) return {.certificates = read_file(cert_file), .name = name};
  const std::string variable_file = environment_variable("DET_MASTER_CERT_FILE");
  if (!variable_file.empty()) return http::TlsOptions::from(variable_file, name, logger);
  return {.certificates = config::stored_certificate(url), .name = name};
}

Credential task_credential(const config::ClusterInfo &info) {
  if (!info.session_token.empty()) return {Credential::Kind::task, info.session_token};
  if (!info.user_token.empty()) return {Credential::Kind::user, info.user_token};
  throw Error(Code::invalid, "connecting to " + info.master_url + ": " + info.origin +
                                 " has no token for it; set DET_SESSION_TOKEN or DET_USER_TOKEN as "
                                 "the cluster does");
}

}  // namespace

std::shared_ptr<MasterSession> connect_to_task_master(const config::ClusterInfo &info,
                                                      std::shared_ptr<Logger> logger) {
  SessionOptions options;
  options.url = info.master_url;
  options.credential = task_credential(info);
  options.http.tls = http::TlsOptions::from(info.cert_file, info.cert_name, *logger);
  options.http.proxy = http::ProxyOptions::from_environment();
  options.http.retry = http::RetryPolicy().overridden_by(environment_variable("DET_RETRY_CONFIG"));
  return std::make_shared<MasterSession>(std::move(options), std::move(logger));
}

SessionOptions user_session_options(const std::string &url, const std::string &cert_file,
                                    int retries, Logger &logger) {
  SessionOptions options;
  options.url = url;
  options.http.tls = user_tls(url, cert_file, logger);
  options.http.proxy = http::ProxyOptions::from_environment();
  options.http.retry.total = retries;
  return options;
}

std::shared_ptr<MasterSession> connect_as_user(const std::string &url,
                                               std::shared_ptr<Logger> logger,
                                               const UserAccess &access) {
  SessionOptions options = user_session_options(url, access.cert_file, user_retries, *logger);
  options.limit = access.limit;
  if (!access.token.empty()) options.credential = {Credential::Kind::user, access.token};
  auto session = std::make_shared<MasterSession>(std::move(options), logger);
  if (!access.token.empty()) return session;
  const UserChoice who = choose_user(access.user, access.password);
  use_user_credential(*session, who, *logger);
  // Tokens of users last a week, and training may take longer.
  session->renew_with(
      [session = session.get(), who, known = stored_token(url, who)]() mutable {
        const std::string token = stored_token(session->url(), who);
        if (!token.empty() && std::exchange(known, token) != token)
          session->use({Credential::Kind::user, token});
      },
      [session = session.get(), who, logger] { use_user_credential(*session, who, *logger); });
  return session;
}

}  // namespace det::master
