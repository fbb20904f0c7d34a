// Users of a master: logging in and out, and which credential a program of a user shows.
#pragma once

#include <optional>
#include <string>

#include "core/master/rest/master_session.h"

namespace det::master {

// What a master expects instead of a password; empty for an empty one.
std::string password_hash(const std::string &password);

// Logs in, and uses the token from then on. Stores nothing. Throws Code::access for a user or
// password that the master does not take.
codec::Login::Response log_in(MasterSession &session, const std::string &user,
                              const std::string &password);

// Who a program means to be: `user` with `password` where both are known, else `user` by a login
// that was kept; empty: the user who is logged in.
struct UserChoice {
  std::string user;
  std::optional<std::string> password;
};

// What the caller gives, else DET_USER with DET_PASS where both are set.
UserChoice choose_user(const std::optional<std::string> &user,
                       const std::optional<std::string> &password);

// The credential of that user; where nobody is chosen that of the user who is logged in, else
// DET_USER_TOKEN, else of the user that every new master has. Logs in where a password is known and
// no token is, and stores the token. Throws Code::access when there is no credential.
void use_user_credential(MasterSession &session, const UserChoice &who, Logger &logger);

// The token that a login has left for that user; empty: none.
std::string stored_token(const std::string &master_url, const UserChoice &who);

}  // namespace det::master
