#include "trial_table.h"

#include <algorithm>

#include "field_text.h"
#include "list.h"
#include "trial_state.h"

namespace det::cli {

namespace {

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

}  // namespace

TrialRow::TrialRow(const Json &trial) : entry(trial) {
  for (auto &[name, value] : flattened(field(entry, "hparams"))) hparams[name] = value;
}

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

}  // namespace det::cli
