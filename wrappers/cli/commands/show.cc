// det show.
#include <memory>

#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/facts.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/commands/metric_names.h"
#include "wrappers/cli/commands/trial_state.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/table.h"

namespace det::cli {

namespace {

constexpr const char *show_footer =
    R"(ID is the ID of a trial, or its external ID. UUID is the ID of a checkpoint, or
its first four characters or more.

Examples:
  det show 1
  det show -e 3)";

constexpr size_t shortest_checkpoint_text = 4;

std::string time_and_age(const Json &time) {
  return time.is_null() ? "" : clock_of(time) + " UTC, " + age_of(time) + " ago";
}

// "PAUSED", and with it what else tells how things are: "ACTIVE (validating)".
std::string state_of(const Json &entry) {
  std::string state = state_text(entry);
  for (const char *key : {"status", "early_exit"}) {
    const Json &more = field(entry, key);
    if (!more.is_null()) state += " (" + text_of(more) + ")";
  }
  return state;
}

void print_rows(const Session &session, const std::string &title, std::vector<Column> columns,
                const Json &entries, std::vector<std::string> (*cells)(const Json &)) {
  if (entries.empty()) return;
  print("\n" + title + "\n");
  Table table(session.terminal, std::move(columns));
  for (const Json &entry : entries) table.add(cells(entry));
  table.finish();
}

void print_runs(const Session &session, const Json &trial) {
  print_rows(session, "Runs",
             {{"RUN", Align::right},
              {"STATE"},
              {"STARTED"},
              {"ENDED"},
              {"RANKS", Align::right},
              {"NODES", Align::right},
              {"HOST"},
              {"PID"}},
             field(trial, "runs"), [](const Json &run) -> std::vector<std::string> {
               const Json &exit = field(run, "exit");
               return {text_of(field(run, "run_id")),
                       text_of(exit.is_null() ? field(run, "state") : exit),
                       clock_of(field(run, "started")),
                       clock_of(field(run, "ended")),
                       std::to_string(field(run, "ranks").size()),
                       text_of(field(run, "nodes")),
                       text_of(field(run, "host")),
                       text_of(field(run, "pid"))};
             });
}

// A program without a search has one operation of length 1, which it never asks for.
bool has_search(const Json &trial) {
  const Json &operations = field(trial, "operations");
  return operations.size() != 1 || field(operations[0], "length") != 1 ||
         field(operations[0], "completed") != false || !field(trial, "progress").is_null();
}

void print_operations(const Session &session, const Json &trial) {
  if (!has_search(trial)) return;
  print_rows(session, "Operations",
             {{"LENGTH", Align::right}, {"METRIC", Align::right}, {"COMPLETED"}},
             field(trial, "operations"), [](const Json &operation) -> std::vector<std::string> {
               return {text_of(field(operation, "length")), number_of(field(operation, "metric")),
                       clock_of(field(operation, "time"))};
             });
}

void show_trial(const Session &session, const Json &trial) {
  print("Trial " + text_of(field(trial, "id")) + " of experiment " +
        text_of(field(trial, "experiment_id")) + ": " + printable(text_of(field(trial, "name"))) +
        "\n");
  print_fact("State", state_of(trial));
  print_fact("Search failed", text_of(field(trial, "error")));
  print_fact("External id", text_of(field(trial, "external_id")));
  print_fact("Progress", percent_of(field(trial, "progress")));
  print_fact("Steps", text_of(field(trial, "steps_completed")));
  print_fact("Best metric", number_of(field(trial, "best_metric")));
  print_fact("Metrics", metric_names(field(trial, "metric_names")).listed());
  print_fact("Started", time_and_age(field(trial, "start_time")));
  print_fact("Ended", time_and_age(field(trial, "end_time")));
  const Json &checkpoint = field(trial, "latest_checkpoint");
  if (!checkpoint.is_null()) {
    print_fact("Latest checkpoint", text_of(field(checkpoint, "uuid")) + " at step " +
                                        text_of(field(checkpoint, "steps_completed")) + ", " +
                                        bytes_of(field(checkpoint, "size")));
  }
  print_section("Hyperparameters", field(trial, "hparams"));
  print_runs(session, trial);
  print_operations(session, trial);
  if (const Json &waiting = field(trial, "waiting"); waiting.is_number() && waiting != 0) {
    print("\n" + text_of(waiting) +
          " reports wait in journals of ended processes: 'det sync' delivers them.\n");
  }
  if (const Json &resume = field(trial, "resume"); !resume.is_null()) {
    print("\nStart it again with: " + printable(text_of(resume)) + "\n");
  }
  if (const Json &note = field(trial, "resume_note"); !note.is_null()) {
    print("\nIt is " + printable(text_of(note)) + "\n");
  }
}

void show_experiment(const Session &session, const Json &experiment) {
  print("Experiment " + text_of(field(experiment, "id")) + ": " +
        printable(text_of(field(experiment, "name"))) + "\n");
  print_fact("State", state_of(experiment));
  print_fact("Search failed", text_of(field(experiment, "error")));
  if (const Json &tags = field(experiment, "tags"); tags.is_array())
    print_fact("Tags", joined(tags.get<std::vector<std::string>>()));
  print_fact("Note", text_of(field(experiment, "notes")));
  print_fact("Progress", percent_of(field(experiment, "progress")));
  print_fact("Best metric", number_of(field(experiment, "best_metric")));
  print_fact("Started", time_and_age(field(experiment, "start_time")));
  print_fact("Ended", time_and_age(field(experiment, "end_time")));
  print_section("Configuration", field(experiment, "config"));
  print_rows(session, "Trials",
             {{"TRIAL", Align::right},
              {"STATE"},
              {"PROGRESS", Align::right},
              {"STEPS", Align::right},
              {"BEST", Align::right}},
             field(experiment, "trials"), [](const Json &trial) -> std::vector<std::string> {
               return {text_of(field(trial, "id")), state_text(trial),
                       percent_of(field(trial, "progress")),
                       text_of(field(trial, "steps_completed")),
                       number_of(field(trial, "best_metric"))};
             });
}

void show_checkpoint(const Json &checkpoint) {
  print("Checkpoint " + printable(text_of(field(checkpoint, "uuid"))) + "\n");
  print_fact("State",
             state_of(checkpoint) + (field(checkpoint, "pinned") == true ? ", pinned" : ""));
  print_fact("Trial", text_of(field(checkpoint, "trial_id")) + ", run " +
                          text_of(field(checkpoint, "trial_run_id")));
  print_fact("Steps", text_of(field(checkpoint, "steps_completed")));
  print_fact("Saved", time_and_age(field(checkpoint, "time")));
  print_section("Stored in", field(checkpoint, "storage"));
  print_section("Metadata", field(checkpoint, "metadata"));
  Facts files;
  for (const auto &[path, size] : field(checkpoint, "resources").items()) {
    files.emplace_back(path, path.ends_with('/') ? "" : bytes_of(size));
  }
  print_section("Files, " + bytes_of(field(checkpoint, "size")), files);
}

struct ShowOptions {
  std::string id;
  bool experiment = false;
  bool json = false;
};

struct Shown {
  Json answer;
  bool checkpoint;
};

// A trial by its id or external id, or a checkpoint by the beginning of its id.
Shown find_shown(Client &client, const std::string &text) {
  if (is_uuid(text)) return {client.checkpoint(text), true};
  try {
    return {client.find_trial(text), false};
  } catch (const Failure &failure) {
    if (failure.code != ExitCode::not_found || text.size() < shortest_checkpoint_text) throw;
  }
  try {
    return {client.find_checkpoint(text), true};
  } catch (const Failure &failure) {
    if (failure.code != ExitCode::not_found) throw;
  }
  throw Failure(ExitCode::not_found, "there is no trial and no checkpoint '" + text +
                                         "'; 'det ls' and 'det checkpoints' list them");
}

void run_show(const Session &session, const ShowOptions &options) {
  if (options.experiment) {
    const int64_t id = parse_id(options.id, "EXPERIMENT");
    const Json experiment = session.connect().experiment(id);
    return options.json ? print(json_line(experiment)) : show_experiment(session, experiment);
  }
  Client client = session.connect();
  const auto [answer, checkpoint] = find_shown(client, options.id);
  if (options.json) return print(json_line(answer));
  if (checkpoint) return show_checkpoint(answer);
  show_trial(session, answer);
}

}  // namespace

void add_show_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App *command = app.add_subcommand("show", "Show a trial, an experiment or a checkpoint.");
  command->footer(show_footer);
  command
      ->add_option("ID|UUID", options->id,
                   "The trial or the checkpoint. With -e it is an experiment.")
      ->type_name("")
      ->required();
  command->add_flag("-e,--experiment", options->experiment, "ID is an experiment.");
  command->add_flag("--json", options->json, "Print one JSON object.");
  command->callback([options, &session] { run_show(session, *options); });
}

}  // namespace det::cli
