// det trials.
#include <algorithm>
#include <memory>

#include "field_text.h"
#include "list.h"
#include "pager.h"
#include "trial_table.h"

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
  CLI::App *command = app.add_subcommand(
      "trials", "List the trials of an experiment with their hyperparameters, the best first.");
  command->footer(trials_footer);
  add_id(command, "EXPERIMENT", options->experiment, "The experiment.")->required();
  add_list_options(command, *options);
  command->callback([options, &session] { run_trials(session, *options); });
}

}  // namespace det::cli
