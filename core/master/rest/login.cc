#include "core/master/rest/login.h"

#include "core/base/crypto/secure_hash.h"
#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/config/token_cache.h"

namespace det::master {

namespace {

constexpr const char *salt = "GubPEmmotfiK9TMD6Zdw";  // part of the contract
constexpr const char *default_user = "determined";    // of every new master, with no password

void use_token(MasterSession &session, const std::string &token) {
  session.use({Credential::Kind::user, token});
}

// Whether the master still takes the token.
bool is_good(MasterSession &session, const std::string &token) {
  use_token(session, token);
  try {
    session.call(codec::GetMe{});
    return true;
  } catch (const Error &error) {
    if (error.http_status != 401) throw;
    session.use({});
    return false;
  }
}

// A cache that cannot be written to costs a login each time, and stops nobody.
template <class Change>
void try_to_store(Logger &logger, Change change) {
  try {
    change();
  } catch (const Error &error) {
    logger.warning(std::string("keeping the token for the next time: ") + error.what());
  }
}

bool use_stored_token(MasterSession &session, const config::KnownUsers &known,
                      const std::string &user, Logger &logger) {
  const auto found = known.tokens.find(user);
  if (found == known.tokens.end()) return false;
  const std::string &token = found->second;
  if (is_good(session, token)) return true;
  try_to_store(logger, [&] { config::drop_token(session.url(), user, token); });
  return false;
}

void log_in_and_store(MasterSession &session, const std::string &user, const std::string &password,
                      Logger &logger) {
  const std::string token = log_in(session, user, password).token;
  try_to_store(logger, [&] { config::store_token(session.url(), user, token, false); });
}

}  // namespace

std::string password_hash(const std::string &password) {
  if (password.empty()) return {};
  std::string hex;
  for (const unsigned char byte : sha512(salt + password)) {
    constexpr const char *digits = "0123456789abcdef";
    hex += digits[byte >> 4U];
    hex += digits[byte & 15U];
  }
  return hex;
}

codec::Login::Response log_in(MasterSession &session, const std::string &user,
                              const std::string &password) {
  session.use({});
  try {
    codec::Login::Response answer = session.call(codec::Login{user, password_hash(password), true},
                                                 {.replay = http::Replay::never});
    use_token(session, answer.token);
    return answer;
  } catch (const Error &error) {
    const std::string who = "logging in to " + session.url() + " as '" + user + "': ";
    if (error.http_status == 401)
      throw Error(Code::access,
                  who +
                      "the master knows no such user with this password; check both (names are "
                      "case-sensitive) and try again",
                  0, 401);
    if (error.http_status == 403)
      throw Error(Code::access,
                  who + "the user is not active; ask an administrator of the master to activate it",
                  0, 403);
    throw;
  }
}

UserChoice choose_user(const std::optional<std::string> &user,
                       const std::optional<std::string> &password) {
  const std::string variable_user = environment_variable("DET_USER");
  const std::string variable_password = environment_variable("DET_PASS");
  if (password && !user && variable_user.empty())
    throw Error(
        Code::invalid,
        "connecting to a master: a password is given, but no user; give one, or set DET_USER");
  if (password) return {user ? *user : variable_user, password};
  if (user)
    return {*user, user == variable_user && !variable_password.empty()
                       ? std::optional(variable_password)
                       : std::nullopt};
  if (variable_user.empty() || variable_password.empty()) return {};
  return {variable_user, variable_password};
}

std::string stored_token(const std::string &master_url, const UserChoice &who) {
  const config::KnownUsers known = config::read_known_users(master_url);
  const auto found = known.tokens.find(!who.user.empty()      ? who.user
                                       : known.active.empty() ? default_user
                                                              : known.active);
  return found == known.tokens.end() ? std::string() : found->second;
}

void use_user_credential(MasterSession &session, const UserChoice &who, Logger &logger) {
  const config::KnownUsers known = config::read_known_users(session.url());
  if (!who.user.empty()) {
    if (use_stored_token(session, known, who.user, logger)) return;
    if (who.password) return log_in_and_store(session, who.user, *who.password, logger);
    throw Error(Code::access, "asking " + session.url() + " as '" + who.user +
                                  "': no login of this user is kept; give the password, or log in "
                                  "with `det login --master " +
                                  session.url() + "`");
  }
  const std::string user = known.active.empty() ? default_user : known.active;
  if (use_stored_token(session, known, user, logger)) return;
  const std::string variable_user = environment_variable("DET_USER");
  const std::string variable_token = environment_variable("DET_USER_TOKEN");
  if (!variable_user.empty() && !variable_token.empty()) return use_token(session, variable_token);

  const std::string remedy =
      "; log in with `det login --master " + session.url() + "`, or set DET_USER and DET_PASS";
  if (!known.active.empty())
    throw Error(Code::access, "asking " + session.url() + " as '" + user +
                                  "': the login has expired or was ended" + remedy);
  try {
    log_in_and_store(session, user, "", logger);
  } catch (const Error &error) {
    if (error.code != Code::access) throw;
    throw Error(Code::access, "asking " + session.url() + ": nobody is logged in" + remedy, 0,
                error.http_status);
  }
}

}  // namespace det::master
