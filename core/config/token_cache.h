// The tokens of users who have logged in, in auth.json of the user's config directory. The
// original's command line has the same file.
#pragma once

#include <map>
#include <string>

namespace det::config {

struct KnownUsers {
  std::string active;                         // who is logged in; empty: nobody
  std::map<std::string, std::string> tokens;  // by user
};

// `master_url` is canonical in all of these. They throw Code::corrupt for a damaged file, which
// they move aside, and Code::unsupported for the file of a newer release, which stays.
KnownUsers read_known_users(const std::string &master_url);

// `log_in` makes the user the active one.
void store_token(const std::string &master_url, const std::string &user, const std::string &token,
                 bool log_in);

// Removes a token that is good no more, unless it was replaced meanwhile.
void drop_token(const std::string &master_url, const std::string &user, const std::string &token);

// Removes the user with the token.
void forget_user(const std::string &master_url, const std::string &user);

}  // namespace det::config
