// det trials.
#include <algorithm>
#include <map>
#include <memory>

#include "command.h"
#include "field_text.h"
#include "table.h"

namespace det::cli {

namespace {

constexpr const char *trials_footer =
    R"(Hyperparameters have columns where they differ between the trials. KEY is metric, id, state, steps,
or the name of a hyperparameter.

Examples:
  det trials 3                      the trials of experiment 3, the best first
  det trials 3 -n 10                the ten best
  det trials 3 --sort lr            by learning rate
  det trials 3 --sort id --reverse  the newest first
  det trials 3 --csv > trials.csv   for a spreadsheet)";

struct TrialsOptions {
  int64_t experiment = 0;
  std::string sort = "metric";
  bool reverse = false;
  int64_t count = 0;
  bool csv = false;
  bool json = false;
};

// A trial, and its hyperparameters by their dotted names.
struct TrialRow {
  Json entry;
  std::map<std::string, Json> hparams;
};

// The key of an entry that a word of --sort stands for; empty for none.
std::string key_of(const std::string &word) {
  if (word == "metric") return "best_metric";
  if (word == "steps") return "steps_completed";
  if (word == "id" || word == "state") return word;
  return "";
}

std::vector<TrialRow> read_rows(Client &client, const TrialsOptions &options) {
  std::vector<TrialRow> rows;
  const bool by_metric = options.sort == "metric";
  const Order order = options.reverse ? Order::worst_first : Order::best_first;
  client.each_trial(
      options.experiment,
      [&](const Json &entry) {
        TrialRow row{entry, {}};
        for (auto &[name, value] : flattened(field(entry, "hparams"))) row.hparams[name] = value;
        rows.push_back(std::move(row));
        // Those that follow can be no better.
        return !by_metric || options.count == 0 ||
               static_cast<int64_t>(rows.size()) < options.count;
      },
      by_metric ? order : Order::oldest_first);
  return rows;
}

// By a key or a hyperparameter; what does not have it comes last.
void sort_rows(std::vector<TrialRow> &rows, const TrialsOptions &options) {
  const std::string key = key_of(options.sort);
  const auto value_of = [&](const TrialRow &row) -> const Json & {
    static const Json none;
    if (!key.empty()) return field(row.entry, key.c_str());
    const auto found = row.hparams.find(options.sort);
    return found == row.hparams.end() ? none : found->second;
  };
  if (key.empty() && !rows.empty() &&
      std::none_of(rows.begin(), rows.end(),
                   [&](const TrialRow &row) { return row.hparams.count(options.sort) != 0; })) {
    std::vector<std::string> names;
    for (const auto &[name, value] : rows.front().hparams) names.push_back(name);
    throw Failure(ExitCode::usage, "there is no '" + options.sort +
                                       "' to sort by; choose metric, id, state, steps" +
                                       (names.empty() ? "" : " or one of " + joined(names)));
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const TrialRow &a, const TrialRow &b) {
    const Json &left = value_of(a), &right = value_of(b);
    if (left.is_null() || right.is_null()) return !left.is_null() && right.is_null();
    return options.reverse ? right < left : left < right;
  });
}

// Those of which there are several values, or of which some trials have none; or all of them.
std::vector<std::string> hparam_names(const std::vector<TrialRow> &rows, bool all) {
  std::map<std::string, size_t> trials;
  std::map<std::string, bool> varies;
  for (const TrialRow &row : rows) {
    for (const auto &[name, value] : row.hparams) {
      ++trials[name];
      const auto first = rows.front().hparams.find(name);
      varies[name] = varies[name] || first == rows.front().hparams.end() || first->second != value;
    }
  }
  std::vector<std::string> names;
  for (const auto &[name, count] : trials) {
    if (all || varies[name] || count < rows.size()) names.push_back(name);
  }
  return names;
}

std::string hparam_of(const TrialRow &row, const std::string &name,
                      std::string (*format)(const Json &), const char *missing) {
  const auto found = row.hparams.find(name);
  return found == row.hparams.end() ? missing : format(found->second);
}

void print_csv(const std::vector<TrialRow> &rows, const Terminal &terminal) {
  const std::vector<std::string> keys = {"id",         "state",           "best_metric",
                                         "best_steps", "steps_completed", "runs",
                                         "restarts",   "start_time",      "end_time"};
  const std::vector<std::string> names = hparam_names(rows, true);
  std::vector<std::string> titles = keys;
  for (const std::string &name : names) titles.push_back("hparams." + name);
  print(csv_line(titles, terminal));
  for (const TrialRow &row : rows) {
    std::vector<std::string> cells;
    for (const std::string &key : keys) {
      const Json &value = field(row.entry, key.c_str());
      cells.push_back(value.is_null() ? "" : text_of(value));
    }
    for (const std::string &name : names) cells.push_back(hparam_of(row, name, text_of, ""));
    print(csv_line(cells, terminal));
  }
}

void print_table(const Session &session, const std::vector<TrialRow> &rows,
                 const Json &experiment) {
  const Json &metric = field(experiment, "searcher_metric");
  const bool restarted = std::any_of(rows.begin(), rows.end(), [](const TrialRow &row) {
    const Json &restarts = field(row.entry, "restarts");
    return restarts.is_number() && restarts != 0;
  });
  std::vector<Column> columns = {{"TRIAL", Align::right},
                                 {metric.is_null() ? "BEST" : text_of(metric), Align::right}};
  const std::vector<std::string> names = hparam_names(rows, false);
  for (const std::string &name : names) columns.push_back({name, Align::right});
  columns.insert(columns.end(), {{"STEPS", Align::right}, {"STATE"}, {"TOOK", Align::right}});
  if (restarted) columns.push_back({"RESTARTS", Align::right});
  Table table(session.terminal, columns);
  for (const TrialRow &row : rows) {
    std::vector<std::string> cells = {text_of(field(row.entry, "id")),
                                      number_of(field(row.entry, "best_metric"))};
    for (const std::string &name : names) cells.push_back(hparam_of(row, name, number_of, "-"));
    cells.push_back(text_of(field(row.entry, "steps_completed")));
    cells.push_back(text_of(field(row.entry, "state")));
    cells.push_back(duration_of(field(row.entry, "start_time"), field(row.entry, "end_time")));
    if (restarted) cells.push_back(text_of(field(row.entry, "restarts")));
    table.add(std::move(cells));
  }
  table.finish();
  if (table.empty()) print("This experiment has no trials yet.\n");
}

void run_trials(const Session &session, const TrialsOptions &options) {
  Client client = session.connect();
  const Json best = client.best_trial(options.experiment);  // an unknown one is an error
  std::vector<TrialRow> rows = read_rows(client, options);
  if (options.sort != "metric") sort_rows(rows, options);
  const auto count = static_cast<size_t>(options.count);
  if (count != 0 && rows.size() > count) rows.erase(rows.begin() + options.count, rows.end());
  if (options.json) {
    for (const TrialRow &row : rows) print(json_line(row.entry));
  } else if (options.csv) {
    print_csv(rows, session.terminal);
  } else {
    print_table(session, rows, best);
  }
}

}  // namespace

void add_trials_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<TrialsOptions>();
  CLI::App *command = app.add_subcommand(
      "trials", "List the trials of an experiment with their hyperparameters, the best first.");
  command->footer(trials_footer);
  add_id(command, "EXPERIMENT", options->experiment, "The experiment.")->required();
  command->add_option("-s,--sort", options->sort, "What to sort by, if not the metric.")
      ->type_name("KEY");
  command->add_flag("-r,--reverse", options->reverse, "The other way round.");
  command
      ->add_option_function<std::string>(
          "-n,--count", [options](const std::string &text) { options->count = parse_count(text); },
          "Only so many.")
      ->type_name("COUNT");
  CLI::Option *csv = command->add_flag("--csv", options->csv, "Comma-separated values.");
  command->add_flag("--json", options->json, "One JSON object per line.")->excludes(csv);
  command->callback([options, &session] { run_trials(session, *options); });
}

}  // namespace det::cli
