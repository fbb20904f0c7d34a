// det gc.
#include <memory>

#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/table.h"

namespace det::cli {

namespace {

constexpr const char *gc_footer =
    R"(Kept checkpoints:
  save_trial_best       The best checkpoints of each trial. By default 1.
  save_trial_latest     The latest checkpoints of each trial. By default 1.
  save_experiment_best  The best checkpoints of all trials. By default 0.

These fields are in checkpoint_storage of the configuration. det also keeps
pinned checkpoints, and those that other trials started from.

Example:
  det gc 3 --dry-run)";

struct GcOptions {
  int64_t experiment = 0;
  bool dry_run = false;
  bool json = false;
};

void run_gc(const Session &session, const GcOptions &options) {
  const Json answer = session.connect().collect_garbage(options.experiment, options.dry_run);
  if (options.json) return print(json_line(answer));
  const Json &checkpoints = field(answer, "checkpoints");
  Table table(session.terminal,
              {{"UUID"}, {"TRIAL", Align::right}, {"STEPS", Align::right}, {"SIZE", Align::right}});
  std::vector<std::string> ids;
  for (const Json &one : checkpoints) ids.push_back(text_of(field(one, "uuid")));
  ids = short_ids(ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    const Json &one = checkpoints[i];
    table.add({ids[i], text_of(field(one, "trial_id")), text_of(field(one, "steps_completed")),
               bytes_of(field(one, "size"))});
  }
  table.finish();
  print(checkpoints.empty() ? "Nothing to delete.\n"
                            : std::to_string(checkpoints.size()) +
                                  (checkpoints.size() == 1 ? " checkpoint, " : " checkpoints, ") +
                                  bytes_of(field(answer, "size")) +
                                  (options.dry_run ? ", would be deleted.\n" : ", deleted.\n"));
  if (const Json &failures = field(answer, "failures"); failures != 0)
    throw Failure(ExitCode::io,
                  text_of(failures) + " checkpoints could not be deleted; run the command again");
}

}  // namespace

void add_gc_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<GcOptions>();
  CLI::App *command =
      app.add_subcommand("gc", "Delete checkpoints that an experiment does not keep.");
  command->footer(gc_footer);
  add_id(command, "EXPERIMENT", options->experiment, "The experiment.")->required();
  command->add_flag("--dry-run", options->dry_run,
                    "Show what would be deleted, and delete nothing.");
  command->add_flag("--json", options->json, "Print one JSON object.");
  command->callback([options, &session] { run_gc(session, *options); });
}

}  // namespace det::cli
