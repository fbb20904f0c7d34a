// The validations of an experiment by the metric that its search is about.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/engine/database.h"
#include "core/engine/runs/searcher_metric.h"

namespace det::engine {

// Keeps with each trial its best validation of those that are not archived: `best_validation` (the
// row), `best_metric` (JSON; NULL where it has none) and `best_order`, which sorts trials. What is
// no validation costs nothing.
class BestValidations {
 public:
  explicit BestValidations(Database &store) : store_(store) {}

  // The following write to the trial given here; the caller holds a transaction.
  void begin(int64_t trial_id);

  // Finds out what the search is over; the others do so where they need it.
  void load();
  // What a validation has for the searcher's metric. Throws Code::invalid where that is no number:
  // it must not be stored.
  std::optional<double> read(std::string_view metrics);
  // A validation that has this was stored in this row.
  void add(int64_t row, std::optional<double> value);
  // Validations were archived: if the best one was, the others decide.
  void rolled_back();
  // Finds the best validation of a trial in a store that did not keep it.
  void find_again();

 private:
  void set(int64_t row, std::optional<double> value);

  Database &store_;
  int64_t trial_id_ = 0;
  bool loaded_ = false;
  std::optional<SearcherMetric> metric_;
};

// The trial with the best validation; none when no trial has one.
std::optional<int64_t> best_trial(Database &store, int64_t experiment_id);

// The best value over all trials of an experiment. NaN is the worst of all.
std::optional<double> best_validation(Database &store, int64_t experiment_id);

}  // namespace det::engine
