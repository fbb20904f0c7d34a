#include "core/client/account.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/environment.h"
#include "core/base/text/utf8.h"
#include "core/config/certificates.h"
#include "core/config/master_location.h"
#include "core/config/token_cache.h"
#include "core/master/rest/login.h"

namespace det::client {

namespace {

constexpr int no_retries = 0;

// Of a master over HTTP.
std::string url_of(const std::string &master, const std::string &tried) {
  const config::MasterLocation location = config::locate_master(master);
  if (location.embedded)
    throw Error(Code::invalid, tried + ": '" + location.home.string() +
                                   "' is the directory of a store, which has no users; give the "
                                   "address of a master, http://HOST:PORT");
  return location.url;
}

std::string given_or_variable(const std::optional<std::string> &given, const char *variable,
                              const std::string &tried, const char *what) {
  const std::string value = given ? *given : environment_variable(variable);
  if (!given && value.empty())
    throw Error(Code::invalid, tried + ": no " + what + " is given; give one, or set " + variable);
  if (!is_utf8(value))
    throw Error(Code::invalid, tried + ": the " + what + " is not UTF-8; check the locale");
  return value;
}

Json entry(const std::string &url, const codec::User &user) {
  return {{"master", url}, {"username", user.username}, {"id", user.id}, {"admin", user.admin}};
}

// Whether the master has ended the token. It may be down, or have ended it before.
bool revoke(const std::string &url, const std::string &token, const master::UserAccess &access,
            std::shared_ptr<Logger> logger) {
  try {
    master::SessionOptions options =
        master::user_session_options(url, access.cert_file, no_retries, *logger);
    options.limit = access.limit;
    options.credential = {master::Credential::Kind::user, token};
    master::MasterSession(std::move(options), logger).call(codec::Logout{});
    return true;
  } catch (const Error &error) {
    return error.http_status == 401;
  }
}

}  // namespace

Json log_in_account(const std::string &master, const master::UserAccess &login,
                    std::shared_ptr<Logger> logger) {
  const std::string url = url_of(master, "logging in");
  const std::string tried = "logging in to " + url;
  const std::string user = given_or_variable(login.user, "DET_USER", tried, "user");
  const std::string password = given_or_variable(login.password, "DET_PASS", tried, "password");
  master::SessionOptions options =
      master::user_session_options(url, login.cert_file, no_retries, *logger);
  options.limit = login.limit;
  const std::string certificates = options.http.tls.certificates;
  master::MasterSession session(std::move(options), std::move(logger));
  const codec::Login::Response answer = master::log_in(session, user, password);
  if (!login.cert_file.empty()) config::store_certificate(url, certificates);
  config::store_token(url, answer.user.username, answer.token, true);
  return entry(url, answer.user);
}

Json log_out_account(const std::string &master, const master::UserAccess &login,
                     std::shared_ptr<Logger> logger) {
  const std::string url = url_of(master, "logging out");
  const config::KnownUsers known = config::read_known_users(url);
  const std::string name = login.user ? *login.user : known.active;
  const auto token = known.tokens.find(name);
  if (name.empty() || (token == known.tokens.end() && name != known.active))
    throw Error(Code::not_found, "logging out of " + url + ": " +
                                     (name.empty() ? "nobody is" : "'" + name + "' is not") +
                                     " logged in");
  config::forget_user(url, name);
  const bool revoked = token == known.tokens.end() || revoke(url, token->second, login, logger);
  return {{"master", url}, {"username", name}, {"revoked", revoked}};
}

Json show_account(const std::string &master, const master::UserAccess &access,
                  std::shared_ptr<Logger> logger) {
  const std::string url = url_of(master, "asking for the user of this login");
  return entry(url,
               master::connect_as_user(url, std::move(logger), access)->call(codec::GetMe{}).user);
}

}  // namespace det::client
