// det trials.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wrappers/cli/commands/list.h"
#include "wrappers/cli/commands/trial_state.h"
#include "wrappers/cli/library_client.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/pager.h"
#include "wrappers/cli/text/table.h"

namespace det::cli {

namespace {

// A trial, and its hyperparameters by their dotted names.
struct TrialRow {
  explicit TrialRow(const Json &trial);

  Json entry;
  std::map<std::string, Json> hparams;
};

// Hyperparameters have columns where they differ between the first rows, which wait for each other;
// those after them are printed at once.
class TrialTable {
 public:
  TrialTable(const Terminal &terminal, std::string metric);
  void add(TrialRow row);
  void finish();

 private:
  void print_held();
  void print_row(const TrialRow &row);

  const Terminal &terminal_;
  std::string metric_;  // the title of its column
  std::vector<TrialRow> held_;
  std::vector<std::string> names_;  // of hyperparameters
  bool restarted_ = false;
  std::unique_ptr<Table> table_;
};

constexpr size_t rows_that_fix_columns = 500;

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

TrialRow::TrialRow(const Json &trial) : entry(trial) {
  for (auto &[name, value] : flattened(field(entry, "hparams"))) hparams[name] = value;
}

// Every hyperparameter has a column.
void print_trials_csv(const std::vector<TrialRow> &rows, const Terminal &terminal) {
  const std::vector<const char *> keys = {"id",         "state",           "best_metric",
                                          "best_steps", "steps_completed", "runs",
                                          "restarts",   "start_time",      "end_time"};
  const std::vector<std::string> names = hparam_names(rows, true);
  std::vector<std::string> titles(keys.begin(), keys.end());
  for (const std::string &name : names) titles.push_back("hparams." + name);
  print(csv_line(titles, terminal));
  for (const TrialRow &row : rows) {
    std::vector<std::string> cells = csv_cells(row.entry, keys);
    for (const std::string &name : names) cells.push_back(hparam_of(row, name, text_of, ""));
    print(csv_line(cells, terminal));
  }
}

TrialTable::TrialTable(const Terminal &terminal, std::string metric)
    : terminal_(terminal), metric_(std::move(metric)) {}

void TrialTable::add(TrialRow row) {
  if (table_) return print_row(row);
  held_.push_back(std::move(row));
  if (held_.size() == rows_that_fix_columns) print_held();
}

void TrialTable::finish() {
  if (!table_) print_held();
  table_->finish();
  if (table_->empty()) print("This experiment has no trials yet.\n");
}

void TrialTable::print_held() {
  restarted_ = std::any_of(held_.begin(), held_.end(), [](const TrialRow &row) {
    const Json &restarts = field(row.entry, "restarts");
    return restarts.is_number() && restarts != 0;
  });
  names_ = hparam_names(held_, false);
  std::vector<Column> columns = {{"TRIAL", Align::right}, {metric_, Align::right}};
  for (const std::string &name : names_) columns.push_back({name, Align::right});
  columns.insert(columns.end(), {{"STEPS", Align::right}, {"STATE"}, {"TOOK", Align::right}});
  if (restarted_) columns.push_back({"RESTARTS", Align::right});
  table_ = std::make_unique<Table>(terminal_, columns);
  for (const TrialRow &row : held_) print_row(row);
  held_.clear();
}

void TrialTable::print_row(const TrialRow &row) {
  std::vector<std::string> cells = {text_of(field(row.entry, "id")),
                                    number_of(field(row.entry, "best_metric"))};
  for (const std::string &name : names_) cells.push_back(hparam_of(row, name, number_of, "-"));
  cells.push_back(text_of(field(row.entry, "steps_completed")));
  cells.push_back(state_text(row.entry));
  cells.push_back(duration_of(field(row.entry, "start_time"), field(row.entry, "end_time")));
  if (restarted_) cells.push_back(text_of(field(row.entry, "restarts")));
  table_->add(std::move(cells));
}

constexpr const char *trials_footer =
    R"(Hyperparameters that differ between the trials have columns. KEY is metric, id,
state, steps or the name of a hyperparameter.

Example:
  det trials 3 --sort lr -n 10)";

struct TrialsOptions : ListOptions {
  int64_t experiment = 0;
};

const std::vector<SortKey> trials_sort_keys = {
    {"metric", "best_metric"}, {"id", "id"}, {"state", "state"}, {"steps", "steps_completed"}};

void require_hparam(const std::vector<TrialRow> &rows, const std::string &name) {
  if (rows.empty() || std::any_of(rows.begin(), rows.end(), [&](const TrialRow &row) {
        return row.hparams.count(name) != 0;
      }))
    return;
  std::vector<SortKey> keys = trials_sort_keys;
  for (const auto &[hparam, value] : rows.front().hparams) keys.push_back({hparam.c_str(), ""});
  sort_key(keys, name);  // fails, with what there is
}

// By a key or a hyperparameter.
void sort_trials(std::vector<TrialRow> &rows, const TrialsOptions &options) {
  const auto known = std::find_if(trials_sort_keys.begin(), trials_sort_keys.end(),
                                  [&](const SortKey &key) { return key.word == options.sort; });
  const char *key = known == trials_sort_keys.end() ? nullptr : known->key;
  if (!key) require_hparam(rows, options.sort);
  sort_rows(rows, options, [&](const TrialRow &row) -> const Json & {
    static const Json none;
    if (key) return field(row.entry, key);
    const auto found = row.hparams.find(options.sort);
    return found == row.hparams.end() ? none : found->second;
  });
}

// Best first, or the other way round, as the library has them.
void walk_by_metric(Client &client, const TrialsOptions &options, const Visit &visit) {
  const Order order = options.reverse ? Order::worst_first : Order::best_first;
  client.each_trial(options.experiment, visit, {order, options.count});
}

std::vector<TrialRow> read_trials(Client &client, const TrialsOptions &options, bool by_metric) {
  std::vector<TrialRow> rows;
  const Visit keep = [&](const Json &entry) {
    rows.emplace_back(entry);
    return true;
  };
  if (by_metric) {
    walk_by_metric(client, options, keep);
  } else {
    client.each_trial(options.experiment, keep, {Order::oldest_first, 0});
    sort_trials(rows, options);
  }
  return rows;
}

void run_trials(const Session &session, const TrialsOptions &options) {
  Client client = session.connect();
  const Json best = client.best_trial(options.experiment);  // an unknown one is an error
  const Json &metric = field(best, "searcher_metric");
  const bool by_metric = options.sort.empty() || options.sort == "metric";
  const bool at_once = by_metric && !options.csv;  // a title of CSV stands for every row
  const std::vector<TrialRow> rows =
      at_once ? std::vector<TrialRow>() : read_trials(client, options, by_metric);

  const Pager pager(session.terminal, session.pager);
  if (options.csv) return print_trials_csv(rows, session.terminal);
  TrialTable table(session.terminal, metric.is_null() ? "BEST" : text_of(metric));
  const auto show = [&](const TrialRow &row) {
    if (options.json) print(json_line(row.entry));
    else table.add(row);
    return true;
  };
  if (at_once)
    walk_by_metric(client, options, [&](const Json &entry) { return show(TrialRow(entry)); });
  for (const TrialRow &row : rows) show(row);
  if (!options.json) table.finish();
}

}  // namespace

void add_trials_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<TrialsOptions>();
  CLI::App *command = app.add_subcommand("trials", "List the trials of an experiment, best first.");
  command->footer(trials_footer);
  add_id(command, "EXPERIMENT", options->experiment, "The experiment.")->required();
  add_list_options(command, *options);
  command->callback([options, &session] { run_trials(session, *options); });
}

}  // namespace det::cli
