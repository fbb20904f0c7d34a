// What people type for a trial or a checkpoint, and what lists show of long ids.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "wrappers/cli/command.h"

namespace det::cli {

// The trial with this id or external id. Throws Failure.
int64_t find_trial(Client &client, const std::string &text);

// Declares a positional trial, called `kind` in the help. Session::connect() settles which one an
// external id stands for. Where `experiment` is set by then, the id is that of an experiment.
CLI::Option *add_trial(CLI::App *command, Session &session, const std::string &kind, int64_t &id,
                       const std::string &description, const bool *experiment = nullptr);

bool is_uuid(const std::string &text);

// UUIDs cut to 8 characters, or to as many as tell them apart; other ids as they are.
std::vector<std::string> short_ids(const std::vector<std::string> &ids);

}  // namespace det::cli
