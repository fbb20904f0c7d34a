// det best.
#include <memory>

#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/facts.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *best_footer =
    R"(Examples:
  det best 3
  det best 3 --json | jq -r .checkpoint.directory)";

struct BestOptions {
  int64_t experiment = 0;
  bool json = false;
};

void show_checkpoint(const Json &checkpoint, const Json &best_steps) {
  if (checkpoint.is_null()) return print("\nIt has no checkpoint.\n");
  const std::string uuid = text_of(field(checkpoint, "uuid"));
  const Json &steps = field(checkpoint, "steps_completed");
  Facts facts = {
      {"uuid", uuid},
      {"steps",
       text_of(steps) + (steps == best_steps ? ", where the metric was best"
                                             : ", the latest; the best step has no checkpoint")},
      {"size", bytes_of(field(checkpoint, "size"))}};
  if (const Json &directory = field(checkpoint, "directory"); !directory.is_null()) {
    facts.emplace_back("files", text_of(directory));
  } else {
    for (const auto &[name, value] : flattened(field(checkpoint, "storage")))
      facts.emplace_back("storage." + name, text_of(value));
  }
  print_section("Checkpoint", facts);
  print("\nTo load it in C\n  const char *uuid = \"" + uuid +
        "\";\n  det_checkpoint_reader_open(checkpoint, uuid, NULL, &stored, &err);\n"
        "\nTo load it in Python\n  context.checkpoint.restore_path(\"" +
        uuid + "\")\n\nTo copy its files\n  det checkpoints get " + uuid +
        " DIRECTORY\n"
        "\nTo start a search from it\n  searcher: {source_checkpoint_uuid: " +
        uuid + "}\n");
}

void run_best(const Session &session, const BestOptions &options) {
  const Json best = session.connect().best_trial(options.experiment);
  if (options.json) return print(json_line(best));
  const Json &trial = field(best, "trial");
  const std::string metric = text_of(field(best, "searcher_metric"));
  const std::string experiment = "experiment " + std::to_string(options.experiment);
  if (metric == "-") {
    throw Failure(ExitCode::not_found,
                  experiment + " has no best trial: its configuration has no searcher.metric");
  }
  if (trial.is_null()) {
    throw Failure(ExitCode::not_found,
                  experiment + " has no best trial: no trial has reported a validation with '" +
                      metric + "'");
  }
  print("Trial " + text_of(field(trial, "id")) + " is the best of " + experiment + ": " +
        printable(text_of(field(best, "name"))) + "\n");
  print_fact("Metric", metric + " " + number_of(field(trial, "best_metric")) + " at step " +
                           text_of(field(trial, "best_steps")) + " (" +
                           (field(best, "smaller_is_better") == false ? "larger" : "smaller") +
                           " is better)");
  print_fact("State", text_of(field(trial, "state")));
  const Json &state = field(best, "state");
  if (state != "COMPLETED" && state != "CANCELED" && state != "ERROR")
    print_fact("Note", "the experiment has not ended: a better trial may follow");
  print_section("Hyperparameters", field(trial, "hparams"));
  show_checkpoint(field(best, "checkpoint"), field(trial, "best_steps"));
}

}  // namespace

void add_best_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<BestOptions>();
  CLI::App *command =
      app.add_subcommand("best", "Show the best trial and how to load its checkpoint.");
  command->footer(best_footer);
  add_id(command, "EXPERIMENT", options->experiment, "The experiment.")->required();
  command->add_flag("--json", options->json, "Print one JSON object.");
  command->callback([options, &session] { run_best(session, *options); });
}

}  // namespace det::cli
