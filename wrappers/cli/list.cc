// det ls, det checkpoints.
#include <memory>

#include "command.h"
#include "field_text.h"
#include "table.h"

namespace det::cli {

namespace {

constexpr const char *list_footer = R"(Examples:
  det ls                            every trial, the newest first
  det ls 3                          the trials of experiment 3
  det ls -e                         the experiments
  det ls --json | jq -r .name       one JSON object per line, for programs)";

constexpr const char *checkpoints_footer = R"(Examples:
  det checkpoints                   every checkpoint, the newest first
  det checkpoints 1                 those of trial 1
  det show UUID                     one of them, with its files and metadata)";

constexpr const char *how_to_start =
    "Nothing here yet. A program that calls det_core_init() appears here as a trial.\n";

struct ListColumn {
  const char *title;
  const char *key;  // of an entry
  std::string (*format)(const Json &);
  Align align;
};

const std::vector<ListColumn> experiment_columns = {
    {"EXP", "id", text_of, Align::right},        {"NAME", "name", text_of, Align::left},
    {"STATE", "state", text_of, Align::left},    {"PROGRESS", "progress", percent_of, Align::right},
    {"TRIALS", "trials", text_of, Align::right}, {"BEST", "best_metric", number_of, Align::right},
    {"AGE", "start_time", age_of, Align::right},
};

const std::vector<ListColumn> trial_columns = {
    {"TRIAL", "id", text_of, Align::right},
    {"EXP", "experiment_id", text_of, Align::right},
    {"NAME", "name", text_of, Align::left},
    {"STATE", "state", text_of, Align::left},
    {"PROGRESS", "progress", percent_of, Align::right},
    {"STEPS", "steps_completed", text_of, Align::right},
    {"BEST", "best_metric", number_of, Align::right},
    {"RUNS", "runs", text_of, Align::right},
    {"AGE", "start_time", age_of, Align::right},
};

const std::vector<ListColumn> checkpoint_columns = {
    {"UUID", "uuid", text_of, Align::left},
    {"TRIAL", "trial_id", text_of, Align::right},
    {"STEPS", "steps_completed", text_of, Align::right},
    {"STATE", "state", text_of, Align::left},
    {"SIZE", "size", bytes_of, Align::right},
    {"AGE", "time", age_of, Align::right},
};

struct ListOptions {
  int64_t id = 0;
  bool experiments = false;
  bool json = false;
};

// Prints each entry that `walk` visits.
void print_list(const Session &session, const std::vector<ListColumn> &columns, bool json,
                const char *when_empty, const std::function<void(const Visit &)> &walk) {
  std::vector<Column> titles;
  for (const ListColumn &column : columns) titles.push_back({column.title, column.align});
  Table table(session.terminal, titles);
  walk([&](const Json &entry) {
    if (json) {
      print(json_line(entry));
      return true;
    }
    std::vector<std::string> cells;
    for (const ListColumn &column : columns) {
      cells.push_back(column.format(field(entry, column.key)));
    }
    table.add(std::move(cells));
    return true;
  });
  table.finish();
  if (table.empty() && !json) print(when_empty);
}

void list(const Session &session, const ListOptions &options) {
  if (options.experiments && options.id != 0) {
    throw Failure(ExitCode::usage, "-e lists all experiments and takes no id");
  }
  Client client = session.connect();
  if (options.experiments) {
    return print_list(session, experiment_columns, options.json, how_to_start,
                      [&](const Visit &visit) { client.each_experiment(visit); });
  }
  if (options.id != 0) client.experiment(options.id);  // an unknown one is an error
  print_list(session, trial_columns, options.json, how_to_start,
             [&](const Visit &visit) { client.each_trial(options.id, visit); });
}

void list_checkpoints(const Session &session, const ListOptions &options) {
  Client client = session.connect();
  if (options.id != 0) client.trial(options.id);  // an unknown one is an error
  print_list(session, checkpoint_columns, options.json, "No checkpoints yet.\n",
             [&](const Visit &visit) { client.each_checkpoint(options.id, visit); });
}

}  // namespace

void add_list_commands(CLI::App &app, Session &session) {
  const auto ls = std::make_shared<ListOptions>();
  CLI::App *command = app.add_subcommand("ls", "List trials, or experiments.");
  command->footer(list_footer);
  add_id(command, "EXPERIMENT", ls->id, "Only the trials of this experiment.");
  command->add_flag("-e,--experiments", ls->experiments, "List experiments instead.");
  command->add_flag("--json", ls->json, "One JSON object per line.");
  command->callback([ls, &session] { list(session, *ls); });

  const auto of = std::make_shared<ListOptions>();
  command = app.add_subcommand("checkpoints", "List checkpoints.");
  command->footer(checkpoints_footer);
  add_id(command, "TRIAL", of->id, "Only those of this trial.");
  command->add_flag("--json", of->json, "One JSON object per line.");
  command->callback([of, &session] { list_checkpoints(session, *of); });
}

}  // namespace det::cli
