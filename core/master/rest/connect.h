// Sessions with everything that the environment says about a master: certificates, proxies, retries
// and who we are.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "core/config/cluster_info.h"
#include "core/master/rest/master_session.h"

namespace det::master {

// For a process that a cluster started: with the task's token, patient with a master that is down,
// as DET_RETRY_CONFIG says. Asks the master nothing. Throws Code::invalid for what cannot be used.
std::shared_ptr<MasterSession> connect_to_task_master(const config::ClusterInfo &info,
                                                      std::shared_ptr<Logger> logger);

// What a caller says of how to reach a master; for what is empty, the environment and the user's
// login say it.
struct UserAccess {
  std::optional<std::string> user = {};  // with a password: logged in as; else whose login counts
  std::optional<std::string> password = {};
  std::string token = {};  // instead of a login
  std::string cert_file = {};
  std::optional<std::chrono::milliseconds> limit = {};  // of a call, with all its attempts
};

// For a user of this machine. `url` is canonical. Verifies the token or logs in, and never asks the
// user: without a usable credential it throws Code::access, saying to log in.
std::shared_ptr<MasterSession> connect_as_user(const std::string &url,
                                               std::shared_ptr<Logger> logger,
                                               const UserAccess &access = {});

// For a user of this machine, without a credential. `cert_file` comes before what the environment
// says; empty: none is given. `retries` limits how often a request is repeated.
SessionOptions user_session_options(const std::string &url, const std::string &cert_file,
                                    int retries, Logger &logger);

}  // namespace det::master
