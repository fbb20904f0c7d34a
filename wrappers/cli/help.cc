// det help.
#include <memory>

#include "arguments.h"
#include "command.h"

namespace det::cli {

namespace {

constexpr const char *help_footer = R"(Examples:
  det help                          the commands there are
  det help plot                     what one takes, with examples
  det help config check             the same of one within another)";

}  // namespace

void add_help_command(CLI::App &app, Session &) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App *command = app.add_subcommand("help", "Show what a command does and takes.");
  command->footer(help_footer);
  command->add_option("COMMAND", *words, "The command.")->type_name("");
  command->callback([words, &app] {
    CLI::App *wanted = &app;
    for (const std::string &word : *words) {
      CLI::App *inner = command_named(*wanted, word);
      if (!inner) throw unknown_command(*wanted, word);
      wanted = inner;
    }
    print(
        wanted->get_formatter()->make_help(wanted, full_name(*wanted), CLI::AppFormatMode::Normal));
  });
}

}  // namespace det::cli
