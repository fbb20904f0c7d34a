// The user's accounts on masters: what det/client.h and `det` do about logging in. Answers are JSON
// objects whose keys docs/client.md lists.
#pragma once

#include <memory>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/master/rest/connect.h"

namespace det::client {

// `master` as in det_core_options, and over HTTP. Without a user or password, those of DET_USER and
// DET_PASS. Keeps the token in the user's config directory, and trusts `cert_file` from now on.
Json log_in_account(const std::string &master, const master::UserAccess &login,
                    std::shared_ptr<Logger> logger);

// Ends the login of the given user, else of the user who is logged in.
Json log_out_account(const std::string &master, const master::UserAccess &login,
                     std::shared_ptr<Logger> logger);

// Who the commands on this master act as.
Json show_account(const std::string &master, const master::UserAccess &access,
                  std::shared_ptr<Logger> logger);

}  // namespace det::client
