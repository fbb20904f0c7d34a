// What `det --help`, `det COMMAND --help` and `det help` print.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace det::cli {

// Two columns of at most 80 columns together, and nothing that only the parser needs to know.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_help(const CLI::App *app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option *> options) const override;
  std::string make_subcommands(const CLI::App *app, CLI::AppFormatMode mode) const override;
  std::string make_option_name(const CLI::Option *option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option *option) const override;
  std::string make_option_usage(const CLI::Option *option) const override;
};

// Sorts the commands of `det` into the groups that its help shows, and sets what stands around
// them.
void group_commands(CLI::App &app);

void add_help_command(CLI::App &app);

// What `det help` explains beside the commands.
std::vector<std::string> help_topics();

}  // namespace det::cli
