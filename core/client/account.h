// The user's accounts on masters: what det/client.h and `det` do about logging in. Answers are JSON
// objects whose keys docs/client.md lists.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/log.h"

namespace det::client {

// Without a user or password, those of DET_USER and DET_PASS.
struct AccountLogin {
  std::optional<std::string> user = {};
  std::optional<std::string> password = {};
  std::string cert_file = {};  // trusted from now on; empty: none
};

// `master` as in det_core_options, and over HTTP. Keeps the token in the user's config directory.
Json log_in_account(const std::string &master, const AccountLogin &login,
                    std::shared_ptr<Logger> logger);

// Ends the login of `user`, else of the user who is logged in.
Json log_out_account(const std::string &master, const std::optional<std::string> &user,
                     std::shared_ptr<Logger> logger);

// Who the commands on this master act as.
Json show_account(const std::string &master, std::shared_ptr<Logger> logger);

}  // namespace det::client
