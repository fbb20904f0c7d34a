// det checkpoint: what the script of `det trial` saves and restores.
#include <filesystem>
#include <memory>

#include "command.h"
#include "core/base/json.h"
#include "field_text.h"
#include "trial_socket.h"

namespace det::cli {

namespace {

constexpr const char *checkpoint_footer =
    R"(In the script of 'det trial'. Others list checkpoints with 'det checkpoints'.

Examples:
  det checkpoint save model --step 100    store the files in ./model; prints the id
  step=$(det checkpoint restore model)    into ./model; prints its steps, 0 where there is none yet)";

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
                                 const std::string &description, CheckpointOptions &options) {
  CLI::App *command = group->add_subcommand(name, description)->group("Commands");
  command->footer(checkpoint_footer);
  command->add_option("DIRECTORY", options.directory, "Where its files are.")
      ->required()
      ->type_name("");
  command->add_flag("--json", options.json, "One JSON object.");
  return command;
}

}  // namespace

void add_checkpoint_commands(CLI::App &app) {
  CLI::App *group =
      app.add_subcommand("checkpoint", "Save and restore checkpoints of the script's trial.");
  group->footer(checkpoint_footer);
  group->require_subcommand(1);

  const auto saved = std::make_shared<CheckpointOptions>();
  CLI::App *command = add_checkpoint_command(
      group, "save", "Store the files of a directory; print its id.", *saved);
  add_steps(command, saved->steps);
  command->add_option("--metadata", saved->metadata, "What else to keep with it: a JSON object.")
      ->type_name("JSON");
  command->callback([saved] { save(*saved); });

  const auto restored = std::make_shared<CheckpointOptions>();
  command = add_checkpoint_command(group, "restore",
                                   "Bring the latest checkpoint back; print its steps.", *restored);
  command->add_option("UUID", restored->uuid, "Another one than the latest.")->type_name("");
  command->callback([restored] { restore(*restored); });
}

}  // namespace det::cli
