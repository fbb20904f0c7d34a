// det config check, det config show.
#include <det/config.h>

#include <algorithm>
#include <cstdio>

#include "core/base/file.h"
#include "core/config/master_location.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/run/run_config.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *check_footer =
    R"(Prints one line for each problem. Without problems the exit code is 0, else 2.
'det docs experiment-config' explains all fields.

Example:
  det config check experiment.yaml)";

constexpr const char *complete_footer = R"('det docs experiment-config' explains all fields.

Example:
  det config show experiment.yaml --json | jq .searcher)";

constexpr const char *config_footer =
    R"(Examples:
  det config check experiment.yaml
  det config show experiment.yaml)";

struct ConfigOptions {
  std::string file, rules = "0.33";
  bool json = false;
};

std::string name_of(const std::string &file) { return file == "-" ? "standard input" : file; }

using Call = det_status (*)(const char *, const det_config_options *, char **, det_error *);

Json ask(const Session &session, const ConfigOptions &given, Call call) {
  const std::string text = read_config_text(given.file);
  const std::string name = name_of(given.file);
  det_config_options options = DET_CONFIG_OPTIONS_INIT;
  options.file_name = name.c_str();
  options.master = session.master.empty() ? nullptr : session.master.c_str();
  options.unmanaged = 1;  // the command may be given to 'det run'
  options.rules = given.rules == "0.38" ? DET_CONFIG_RULES_0_38 : DET_CONFIG_RULES_0_33;
  return ask_library(
      [&](char **out, det_error *error) { return call(text.c_str(), &options, out, error); });
}

// A master over HTTP has a storage of its own, which nobody here knows.
std::filesystem::path home_of(const Session &session) {
  const config::MasterLocation location = config::locate_master(session.master);
  return location.embedded ? location.home : user_data_directory();
}

// 'det run FILE -- COMMAND' takes a configuration without a command.
void leave_command_to_run(ReadConfig &read) {
  for (const config::ConfigProblem &problem : read.problems) {
    if (problem.kind != "entrypoint_required") continue;
    config::ConfigProblem warning = problem;
    warning.is_warning = true;
    warning.message += "; give it to 'det run' after '--', or here";
    read.warnings.push_back(std::move(warning));
  }
  std::erase_if(read.problems, [](const config::ConfigProblem &problem) {
    return problem.kind == "entrypoint_required";
  });
}

void check(const Session &session, const ConfigOptions &options) {
  ReadConfig read = with_exit_code([&] {
    return read_run_config(run_sources(options.file, options.rules, home_of(session), true));
  });
  leave_command_to_run(read);
  const std::string name = printable(name_of(options.file));
  for (const auto *problems : {&read.problems, &read.warnings})
    for (const config::ConfigProblem &problem : *problems)
      print(options.json ? json_line(config::to_json(problem))
                         : printable(config::describe(name_of(options.file), problem)) + "\n");
  const size_t count = read.problems.size();
  if (count > 0)
    throw Failure(ExitCode::usage,
                  name + " has " + std::to_string(count) + (count > 1 ? " problems" : " problem"));
  if (!options.json) print(name + " is complete\n");
}

bool needs_no_quotes(const std::string &text) {
  static const std::vector<std::string> other = {"y",   "n",    "yes",   "no",  "on",
                                                 "off", "true", "false", "null"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::string lower = text;
  for (char &c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return !text.empty() && (letter(text[0]) || text[0] == '/') &&
         std::find(other.begin(), other.end(), lower) == other.end() &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return letter(c) || (c >= '0' && c <= '9') || std::strchr("_-./", c) != nullptr;
         });
}

// Where quotes are needed JSON's do: what they escape YAML reads as well.
std::string scalar(const Json &value) {
  const bool bare = value.is_string() && needs_no_quotes(value.get<std::string>());
  return bare ? value.get<std::string>() : printable(value.dump());
}

void print_yaml(const Json &value, const std::string &indent) {
  for (auto entry = value.begin(); entry != value.end(); ++entry) {
    const std::string head = value.is_array() ? "-" : scalar(entry.key()) + ":";
    if (entry->is_structured() && !entry->empty()) {
      print(indent + head + "\n");
      print_yaml(*entry, indent + "  ");
    } else {
      print(indent + head + " " + scalar(*entry) + "\n");
    }
  }
}

void show(const Session &session, const ConfigOptions &options) {
  const Json config = ask(session, options, det_config_complete);
  if (options.json) print(json_line(config));
  else print_yaml(config, "");
}

void add_command(CLI::App *group, const std::string &name, const std::string &description,
                 const char *footer, const std::string &json, Session &session,
                 void (*run)(const Session &, const ConfigOptions &)) {
  const auto options = std::make_shared<ConfigOptions>();
  CLI::App *command = group->add_subcommand(name, description)->group("Commands");
  command->footer(footer);
  command->add_option("FILE", options->file, "The configuration; - reads standard input.")
      ->required()
      ->type_name("");
  command
      ->add_option("--rules", options->rules,
                   "The release whose rules apply: 0.33 (the default) or 0.38.")
      ->type_name("RULES")
      ->check([](const std::string &rules) {
        return rules == "0.33" || rules == "0.38"
                   ? std::string()
                   : "'" + rules + "' is not a release with rules: choose 0.33 or 0.38";
      });
  command->add_flag("--json", options->json, json);
  command->callback([options, run, &session] { run(session, *options); });
}

}  // namespace

void add_config_commands(CLI::App &app, Session &session) {
  CLI::App *group =
      app.add_subcommand("config", "Check an experiment configuration, or show its defaults.");
  group->footer(config_footer);
  group->require_subcommand(1);
  add_command(group, "check", "List every problem of a configuration.", check_footer,
              "Print one JSON object for each problem.", session, check);
  add_command(group, "show", "Print a configuration with all defaults.", complete_footer,
              "Print one JSON object.", session, show);
}

}  // namespace det::cli
