#include "core/engine/runs/best_validation.h"

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::engine {

namespace {

Query first_trial(Database &store, int64_t experiment_id) {
  return store.query(
      "SELECT id, best_metric FROM trials WHERE experiment_id=? ORDER BY best_order, id LIMIT 1",
      experiment_id);
}

}  // namespace

void BestValidations::begin(int64_t trial_id) {
  if (trial_id != trial_id_) loaded_ = false;
  trial_id_ = trial_id;
}

void BestValidations::load() {
  if (loaded_) return;
  Query config = store_.query(
      "SELECT config FROM trials JOIN experiments ON experiments.id=experiment_id"
      " WHERE trials.id=?",
      trial_id_);
  metric_ = config.next()
                ? searcher_metric(parse_json_object(config.view(0), "the stored configuration"))
                : std::nullopt;
  loaded_ = true;
}

std::optional<double> BestValidations::read(std::string_view metrics) {
  load();
  if (!metric_) return std::nullopt;
  return searcher_value(parse_json_object(metrics, "metrics"), *metric_);
}

void BestValidations::add(int64_t row, std::optional<double> value) {
  load();
  if (metric_) set(row, value);
}

void BestValidations::set(int64_t row, std::optional<double> value) {
  const double sign = metric_->smaller_is_better ? 1 : -1;
  store_.run(store_.dialect().keep_best_validation, row,
             value ? std::optional(to_wire(Json(*value))) : std::nullopt,
             value ? std::optional(sign * *value) : std::nullopt, trial_id_);
}

void BestValidations::rolled_back() {
  if (store_
          .query("SELECT 1 FROM trials JOIN metrics ON metrics.id=best_validation"
                 " WHERE trials.id=? AND archived=1",
                 trial_id_)
          .next())
    find_again();
}

void BestValidations::find_again() {
  load();
  if (!metric_) return;
  store_.run(store_.dialect().forget_best_validation, trial_id_);
  Query rows = store_.query(
      "SELECT id, metrics FROM metrics"
      " WHERE trial_id=? AND metric_group='validation' AND archived=0 ORDER BY id",
      trial_id_);
  std::optional<int64_t> best;
  std::optional<double> best_value;
  while (rows.next()) {
    std::optional<double> value;
    try {
      value = searcher_value(parse_json_object(rows.view(1), "stored metrics"), *metric_);
    } catch (const Error &e) {
      if (e.code != Code::invalid) throw;
      // Earlier releases stored what is no number.
    }
    if (best && rank_of(value, *metric_) >= rank_of(best_value, *metric_)) continue;
    best = rows.integer(0);
    best_value = value;
  }
  if (best) set(*best, best_value);
}

std::optional<int64_t> best_trial(Database &store, int64_t experiment_id) {
  Query first = first_trial(store, experiment_id);
  return first.next() && !first.is_null(1) ? std::optional(first.integer(0)) : std::nullopt;
}

std::optional<double> best_validation(Database &store, int64_t experiment_id) {
  Query first = first_trial(store, experiment_id);
  if (!first.next() || first.is_null(1)) return std::nullopt;
  return searcher_value({{"best", parse_json(first.view(1), "a stored metric")}}, {"best"});
}

}  // namespace det::engine
