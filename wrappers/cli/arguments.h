// The words after `det`: options may stand before the command, and slips are told from their like.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "wrappers/cli/exit_code.h"

namespace det::cli {

std::string full_name(const CLI::App &command);  // "det config check"

// The command of `app` with this name, or null.
CLI::App *command_named(CLI::App &app, const std::string &name);

// The option of `command`, or of those it is a part of; null for none.
const CLI::Option *find_option(const CLI::App &command, const std::string &name);

bool takes_value(const CLI::Option *option);

// The same with options that stand before their command behind it.
std::vector<std::string> with_command_first(CLI::App &app, std::vector<std::string> words);

// That there is no such command, and which one may have been meant.
Failure unknown_command(const CLI::App &app, const std::string &name);

// Throws where `app` was given a command or options that it could not parse.
void refuse_unknown_words(const CLI::App &app);

// What is wrong with the words that `app` could not parse.
Failure wrong_arguments(const CLI::App &app, const CLI::ParseError &error);

}  // namespace det::cli
