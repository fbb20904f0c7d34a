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
codec::Login::Answer log_in(MasterSession &session, const std::string &user,
                            const std::string &password);

// The credential of whoever runs this program: DET_USER with DET_PASS, else the user who is logged
// in, else DET_USER_TOKEN, else the user that every new master has. Logs in where a password is
// known and no token is, and stores the token. Throws Code::access when there is no credential.
void use_user_credential(MasterSession &session, Logger &logger);

// The token that a login has left for whoever runs this program; empty: none.
std::string stored_token(const std::string &master_url);

}  // namespace det::master
