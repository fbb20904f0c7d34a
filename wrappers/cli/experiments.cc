// det experiments.
#include <memory>

#include "command.h"
#include "field_text.h"
#include "table.h"

namespace det::cli {

namespace {

constexpr const char *experiments_footer = R"(Examples:
  det experiments                   every experiment, the newest first
  det experiments --csv             for a spreadsheet
  det experiments --json | jq -r 'select(.state == "ACTIVE").id'
  det trials 3                      the trials of one, the best first)";

constexpr const char *when_empty =
    "Nothing here yet. 'det run FILE' makes an experiment, and so does a program that calls "
    "det_core_init().\n";

// "7/16", or "16" where it is not known how many are done.
std::string done_of(const Json &experiment) {
  const Json &done = field(experiment, "trials_done");
  const std::string all = text_of(field(experiment, "trials"));
  return done.is_null() ? all : text_of(done) + "/" + all;
}

std::vector<std::string> cells_of(const Json &experiment) {
  return {text_of(field(experiment, "id")),
          text_of(field(experiment, "name")),
          text_of(field(experiment, "state")),
          percent_of(field(experiment, "progress")),
          done_of(experiment),
          number_of(field(experiment, "best_metric")),
          text_of(field(experiment, "searcher_metric")),
          text_of(field(experiment, "searcher")),
          age_of(field(experiment, "start_time")),
          duration_of(field(experiment, "start_time"), field(experiment, "end_time"))};
}

struct ExperimentsOptions {
  bool csv = false;
  bool json = false;
};

void print_csv(Client &client, const Terminal &terminal) {
  const std::vector<std::string> keys = {
      "id",          "name",     "state",           "progress",   "trials",  "trials_done",
      "best_metric", "searcher", "searcher_metric", "start_time", "end_time"};
  print(csv_line(keys, terminal));
  client.each_experiment([&](const Json &experiment) {
    std::vector<std::string> cells;
    for (const std::string &key : keys) {
      const Json &value = field(experiment, key.c_str());
      cells.push_back(value.is_null() ? "" : text_of(value));
    }
    print(csv_line(cells, terminal));
    return true;
  });
}

void run_experiments(const Session &session, const ExperimentsOptions &options) {
  Client client = session.connect();
  if (options.csv) return print_csv(client, session.terminal);
  Table table(session.terminal, {{"EXP", Align::right},
                                 {"NAME"},
                                 {"STATE"},
                                 {"PROGRESS", Align::right},
                                 {"DONE", Align::right},
                                 {"BEST", Align::right},
                                 {"METRIC"},
                                 {"SEARCHER"},
                                 {"AGE", Align::right},
                                 {"TOOK", Align::right}});
  client.each_experiment([&](const Json &experiment) {
    if (options.json) print(json_line(experiment));
    else table.add(cells_of(experiment));
    return true;
  });
  table.finish();
  if (table.empty() && !options.json) print(when_empty);
}

}  // namespace

void add_experiments_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<ExperimentsOptions>();
  CLI::App *command =
      app.add_subcommand("experiments", "List experiments with how far and how good they are.");
  command->footer(experiments_footer);
  CLI::Option *csv = command->add_flag("--csv", options->csv, "Comma-separated values.");
  command->add_flag("--json", options->json, "One JSON object per line.")->excludes(csv);
  command->callback([options, &session] { run_experiments(session, *options); });
}

}  // namespace det::cli
