// Trials with their hyperparameters in columns.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "library_client.h"
#include "table.h"

namespace det::cli {

// A trial, and its hyperparameters by their dotted names.
struct TrialRow {
  explicit TrialRow(const Json &trial);

  Json entry;
  std::map<std::string, Json> hparams;
};

// Every hyperparameter has a column.
void print_trials_csv(const std::vector<TrialRow> &rows, const Terminal &terminal);

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

}  // namespace det::cli
