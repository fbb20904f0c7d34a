#include "wrappers/cli/help.h"

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "wrappers/cli/arguments.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

namespace {

constexpr size_t page_width = 80, widest_name = 26;

constexpr const char *main_footer = R"(Example:
  det run experiment.yaml

'det help COMMAND' explains a command. 'det help environment' lists the
environment variables, 'det help exit-codes' the exit codes. 'det docs' opens
the documentation. Your own program appears as a trial once it calls
det_core_init(), or core.init() in Python.)";

constexpr const char *help_footer = R"(Topics: environment, exit-codes.

Example:
  det help config check)";

constexpr const char *environment_topic = R"(Environment:
  DET_MASTER  The store (a directory or a file: URL) or the master (an http(s)
              URL), if -m is missing.
  DET_HOME    The directory of the store, if -m and DET_MASTER are missing. By
              default it is $XDG_DATA_HOME/determined, or
              ~/.local/share/determined.
  DET_USER    The user on a master, with DET_PASS. By default it is the user
              who logged in with 'det login'.
  PAGER       The program that shows long output on a terminal. If it is
              empty, no program does. The default is less.
  BROWSER     The program that 'det docs' opens pages with.
  NO_COLOR    Set it to anything to turn colours off.
  COLUMNS     The width of plots and tables.
)";

constexpr const char *exit_codes_topic = R"(Exit codes:
  0  The command succeeded.
  1  det has a defect, or memory ran out. Please report a defect.
  2  The arguments are wrong.
  3  The ID, metric or store does not exist.
  4  The store is busy or locked. Try again.
  5  The state does not allow the command.
  6  Reading or writing failed, a file is damaged, or the disk is full.
  7  This release does not support it.
  8  The master does not answer.

Some commands have more exit codes. 'det help COMMAND' lists them.
)";

const std::map<std::string, const char *> topics = {{"environment", environment_topic},
                                                    {"exit-codes", exit_codes_topic}};

const std::vector<std::pair<const char *, std::vector<const char *>>> command_groups = {
    {"Start here", {"run", "trial", "ls", "show", "plot", "logs", "best", "resume"}},
    {"Run and follow", {"next", "report", "wait", "sync"}},
    {"Look at results",
     {"experiments", "trials", "metrics", "compare", "hparams", "export", "trace", "tensorboard"}},
    {"Checkpoints", {"checkpoints", "checkpoint", "gc"}},
    {"Steer trials and experiments",
     {"pause", "activate", "cancel", "kill", "rename", "tag", "untag", "note", "archive",
      "unarchive", "rm"}},
    {"Log in to a master", {"login", "logout", "whoami"}},
    {"Tools", {"config", "docs", "completion", "help", "version"}},
};

using Rows = std::vector<std::pair<std::string, std::string>>;

// A text of words in lines of `width`, the second and later ones behind `indent` spaces.
std::string wrapped(const std::string &text, size_t width, size_t indent) {
  std::istringstream words(text);
  std::string out;
  size_t column = 0;
  for (std::string word; words >> word;) {
    if (column > 0 && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = 0;
    }
    out += (column > 0 ? " " : "") + word;
    column += (column > 0 ? 1 : 0) + word.size();
  }
  return out;
}

// A name that is too wide for its column has its text below.
std::string two_columns(const Rows &rows) {
  size_t width = 0;
  for (const auto &[name, text] : rows)
    if (name.size() <= widest_name) width = std::max(width, name.size());
  if (width == 0) width = widest_name;
  const size_t indent = width + 4;
  std::string out;
  for (const auto &[name, text] : rows) {
    std::string line = "  " + name;
    if (name.size() > width) line += "\n" + std::string(indent, ' ');
    else line.resize(indent, ' ');
    out += line + wrapped(text, page_width - indent, indent) + "\n";
  }
  return out;
}

bool is_listed(const CLI::App *command) {
  return !command->get_name().empty() && !command->get_group().empty();
}

}  // namespace

HelpFormatter::HelpFormatter() { label("SUBCOMMAND", "COMMAND"); }

std::string HelpFormatter::make_help(const CLI::App *app, std::string name,
                                     CLI::AppFormatMode mode) const {
  std::string usage = make_usage(app, std::move(name));  // some releases put empty lines around it
  usage.erase(0, usage.find_first_not_of('\n'));
  usage.erase(usage.find_last_not_of('\n') + 1);
  std::string help = app->get_description() + "\n\n" + usage + "\n" + make_positionals(app) +
                     make_subcommands(app, mode) + make_groups(app, mode);
  if (!app->get_footer().empty()) help += "\n" + app->get_footer() + "\n";
  return help;
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option *> options) const {
  Rows rows;
  for (const CLI::Option *option : options)
    rows.emplace_back(make_option_name(option, is_positional) + make_option_opts(option),
                      option->get_description());
  const std::string title = is_positional ? "Arguments" : group == "OPTIONS" ? "Options" : group;
  return "\n" + title + ":\n" + two_columns(rows);
}

std::string HelpFormatter::make_subcommands(const CLI::App *app, CLI::AppFormatMode) const {
  std::vector<std::string> groups;
  std::map<std::string, Rows> rows;
  for (const CLI::App *command : app->get_subcommands(is_listed)) {
    const std::string &group = command->get_group();
    if (!rows.contains(group)) groups.push_back(group);
    rows[group].emplace_back(command->get_name(), command->get_description());
  }
  size_t width = 0;  // one for all groups
  for (const auto &[group, commands] : rows)
    for (const auto &[name, text] : commands) width = std::max(width, name.size());
  std::string out;
  for (const std::string &group : groups) {
    for (auto &[name, text] : rows[group]) name.resize(width, ' ');
    out += "\n" + group + ":\n" + two_columns(rows[group]);
  }
  return out;
}

std::string HelpFormatter::make_option_name(const CLI::Option *option, bool is_positional) const {
  if (is_positional) return option->get_name(true);
  std::string names;
  const auto add = [&](const std::string &name) { names += (names.empty() ? "" : ", ") + name; };
  for (const std::string &name : option->get_snames()) add("-" + name);
  for (const std::string &name : option->get_lnames()) add("--" + name);
  return names;
}

std::string HelpFormatter::make_option_opts(const CLI::Option *option) const {
  const bool is_named = option->get_type_size() != 0 && !option->get_type_name().empty();
  return is_named && !option->get_positional() ? " " + option->get_type_name() : "";
}

std::string HelpFormatter::make_option_usage(const CLI::Option *option) const {
  std::string text = option->get_option_text();  // such as "-- COMMAND..."
  if (text.empty())
    text = option->get_name(true) + (option->get_items_expected_max() > 1 ? "..." : "");
  return option->get_required() ? text : "[" + text + "]";
}

void group_commands(CLI::App &app) {
  for (const auto &[group, names] : command_groups)
    for (const char *name : names) app.get_subcommand(name)->group(group);
  app.footer(main_footer);  // last: commands inherit it
}

std::vector<std::string> help_topics() {
  std::vector<std::string> names;
  for (const auto &[name, text] : topics) names.push_back(name);
  return names;
}

void add_help_command(CLI::App &app) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App *command = app.add_subcommand("help", "Explain a command or a topic.");
  command->footer(help_footer);
  command->add_option("COMMAND", *words, "The command, or a topic.")->type_name("");
  command->callback([words, &app] {
    if (words->size() == 1)
      if (const auto topic = topics.find(words->front()); topic != topics.end())
        return print(topic->second);
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
