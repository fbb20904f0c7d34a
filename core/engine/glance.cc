// What a display shows of an experiment while it runs, in few rows.
#include "core/engine/best_validation.h"
#include "core/engine/engine.h"

namespace det::engine {

TrialGlance Engine::glance(int64_t trial_id) {
  const std::lock_guard guard(mutex_);
  TrialGlance glance;
  {
    Query row = records().query(
        "SELECT state, status, progress, (SELECT steps FROM metrics WHERE trial_id=trials.id"
        "  AND metric_group='training' AND archived=0 ORDER BY steps DESC LIMIT 1)"
        " FROM trials WHERE id=?",
        trial_id);
    if (!row.next()) return glance;
    glance = {row.text(0), row.text(1), row.number(2), row.integer(3), {}};
  }
  Query row = records().query(
      "SELECT metrics FROM metrics WHERE trial_id=? AND metric_group='validation' AND archived=0"
      " ORDER BY steps DESC LIMIT 1",
      trial_id);
  if (row.next()) glance.validation = parse_json(row.view(0), "stored metrics");
  return glance;
}

std::optional<int64_t> Engine::first_paused_trial(int64_t experiment_id) {
  const std::lock_guard guard(mutex_);
  Query row = records().query(
      "SELECT id FROM trials WHERE experiment_id=? AND state='PAUSED' ORDER BY id LIMIT 1",
      experiment_id);
  return row.next() ? std::optional(row.integer(0)) : std::nullopt;
}

std::map<std::string, int64_t> Engine::count_trials(int64_t experiment_id) {
  const std::lock_guard guard(mutex_);
  std::map<std::string, int64_t> counts;
  Query rows = records().query(
      "SELECT state, COUNT(*) FROM trials WHERE experiment_id=? GROUP BY state", experiment_id);
  while (rows.next()) counts[rows.text(0)] = rows.integer(1);
  return counts;
}

std::optional<BestTrialRecord> Engine::best_trial(int64_t experiment_id) {
  const std::lock_guard guard(mutex_);
  const auto best = det::engine::best_trial(records(), experiment_id);
  const auto value = best_validation(records(), experiment_id);
  if (!best || !value) return std::nullopt;
  return BestTrialRecord{*best, *value};
}

}  // namespace det::engine
