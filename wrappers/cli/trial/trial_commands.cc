// det next, report and checkpoint: what the script of `det trial` says and asks.
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/base/json.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/trial/trial_socket.h"

namespace det::cli {

namespace {

constexpr const char *checkpoint_footer =
    R"(Use it in the script of 'det trial'. 'det checkpoints' lists checkpoints.

Examples:
  det checkpoint save model --step 100
  step=$(det checkpoint restore model))";

// The holder may stand in another directory.
std::string directory_for_holder(const std::string &directory) {
  return std::filesystem::absolute(directory).string();
}

struct CheckpointOptions {
  std::string directory, metadata, uuid;
  int64_t steps = 0;
  bool json = false;
};

void save(const CheckpointOptions &options) {
  const std::string &more = options.metadata;
  Json metadata = with_exit_code(
      [&] { return more.empty() ? Json::object() : parse_json_object(more, "--metadata"); });
  metadata["steps_completed"] = options.steps;
  Json answer = ask_trial({{"do", "save"},
                           {"directory", directory_for_holder(options.directory)},
                           {"metadata", metadata}});
  answer.erase("exit");
  print(options.json ? json_line(answer) : text_of(answer.at("uuid")) + "\n");
}

void restore(const CheckpointOptions &options) {
  Json answer = ask_trial({{"do", "restore"},
                           {"directory", directory_for_holder(options.directory)},
                           {"uuid", options.uuid}});
  answer.erase("exit");
  print(options.json ? json_line(answer) : text_of(answer.at("steps_completed")) + "\n");
}

CLI::App *add_checkpoint_command(CLI::App *group, const std::string &name,
                                 const std::string &description, const char *footer,
                                 CheckpointOptions &options) {
  CLI::App *command = group->add_subcommand(name, description)->group("Commands");
  command->footer(footer);
  command->add_option("DIRECTORY", options.directory, "The directory of the files.")
      ->required()
      ->type_name("");
  command->add_flag("--json", options.json, "Print one JSON object.");
  return command;
}

constexpr const char *next_footer =
    R"(Use it in the script of 'det trial'. Prints how far to train, counted from the
beginning of the trial. Until you complete that length, it prints the same
number, so a script can ask at every step whether to stop. A paused or canceled
trial should save a checkpoint and exit.

Examples:
  while length=$(det next); do ./train "$length"; done
  det next --completed "$loss"

Exit codes:
  12  There is nothing more to train for now.
  13  The trial is asked to stop. Save a checkpoint and exit.)";

constexpr const char *report_footer =
    R"(Use it in the script of 'det trial'. Exit code 0 means that the report is safe,
even if the process or the master fails later.

Example:
  det report loss=0.4 acc=0.9 --step 100 --group validation)";

double parse_number(const std::string &text, const std::string &what) {
  double value = 0;
  const char *begin = text.data(), *const end = begin + text.size();
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') ++begin;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc() && stop == end) return value;
  throw Failure(ExitCode::usage, "'" + text + "' is not a number: give one for " + what);
}

// Of "loss=0.3". A name may have an = in it, a number none.
void add_metric(Json &metrics, const std::string &text) {
  const size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0)
    throw Failure(ExitCode::usage,
                  "'" + text + "' is not a metric: write NAME=NUMBER, as in loss=0.3");
  const std::string name = text.substr(0, equals);
  if (metrics.contains(name)) throw Failure(ExitCode::usage, "'" + name + "' is given twice");
  metrics[name] = parse_number(text.substr(equals + 1), "'" + name + "'");
}

CLI::Option *add_number(CLI::App *command, const std::string &name, std::optional<double> &number,
                        const std::string &description) {
  return command
      ->add_option_function<std::string>(
          name, [&number, name](const std::string &text) { number = parse_number(text, name); },
          description)
      ->type_name("NUMBER");
}

void add_next_command(CLI::App &app) {
  struct Options {
    std::optional<double> completed, progress;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("next", "Print how far a script should train.");
  command->footer(next_footer);
  CLI::Option *completed = add_number(command, "--completed", options->completed,
                                      "The length is trained. NUMBER is the searcher metric.");
  add_number(command, "--progress", options->progress, "How far the script has trained so far.")
      ->excludes(completed);
  command->add_flag("--json", options->json, "Print one JSON object.");
  command->callback([options] {
    Json request = {{"do", "next"}};
    if (options->completed) request = {{"do", "complete"}, {"metric", *options->completed}};
    if (options->progress) request = {{"do", "progress"}, {"length", *options->progress}};
    Json answer = ask_trial(request);
    answer.erase("exit");
    if (options->json) print(json_line(answer));
    else if (answer.contains("length")) print(text_of(answer.at("length")) + "\n");
  });
}

void add_report_command(CLI::App &app) {
  struct Options {
    Json metrics = Json::object();
    std::string group = "training";
    int64_t steps = 0;
  };
  const auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("report", "Report metrics from a script.");
  command->footer(report_footer);
  command
      ->add_option_function<std::vector<std::string>>(
          "NAME=NUMBER",
          [options](const std::vector<std::string> &texts) {
            for (const std::string &text : texts) add_metric(options->metrics, text);
          },
          "A metric and its value.")
      ->type_name("")
      ->required();
  add_steps(command, options->steps);
  command->add_option("-g,--group", options->group, "The group. By default it is training.")
      ->type_name("GROUP");
  command->callback([options] {
    ask_trial({{"do", "report"},
               {"group", options->group},
               {"steps", options->steps},
               {"metrics", options->metrics}});
  });
}

}  // namespace

void add_script_commands(CLI::App &app) {
  add_next_command(app);
  add_report_command(app);
}

void add_checkpoint_commands(CLI::App &app) {
  CLI::App *group = app.add_subcommand("checkpoint", "Save and restore checkpoints in a script.");
  group->footer(checkpoint_footer);
  group->require_subcommand(1);

  const auto saved = std::make_shared<CheckpointOptions>();
  CLI::App *command = add_checkpoint_command(
      group, "save", "Store the files of a directory and print the checkpoint ID.",
      "Example:\n  det checkpoint save model --step 100", *saved);
  add_steps(command, saved->steps);
  command->add_option("--metadata", saved->metadata, "A JSON object to store with it.")
      ->type_name("JSON");
  command->callback([saved] { save(*saved); });

  const auto restored = std::make_shared<CheckpointOptions>();
  command =
      add_checkpoint_command(group, "restore", "Restore the latest checkpoint and print its steps.",
                             "Prints 0 if there is no checkpoint yet.\n\nExample:\n"
                             "  step=$(det checkpoint restore model)",
                             *restored);
  command->add_option("UUID", restored->uuid, "The checkpoint, if not the latest.")->type_name("");
  command->callback([restored] { restore(*restored); });
}

}  // namespace det::cli
