#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/engine/engine.h"
#include "core/engine/entries.h"

namespace det::engine {

namespace {

const char *level_name(int64_t level) {
  static constexpr std::array<const char *, 4> names{"debug", "info", "warning", "error"};
  return names.at(static_cast<size_t>(std::clamp<int64_t>(level, 0, 3)));
}

}  // namespace

Json Engine::list_experiments(const Page &page) {
  const std::lock_guard guard(mutex_);
  return list_page(records(), "experiments", experiment_columns(records().dialect()),
                   {"experiments.id"}, page, experiment_entry);
}

Json Engine::list_trials(int64_t experiment_id, const Page &page) {
  const std::lock_guard guard(mutex_);
  const auto entry = [this](const Query &row) { return trial_entry(records(), row); };
  if (!page.by_metric)
    return list_page(records(), "trials",
                     std::string(trial_columns) + " WHERE (?1=0 OR experiment_id=?1)",
                     {"trials.id"}, page, entry, experiment_id);
  return list_page(records(), "trials", std::string(trial_columns) + " WHERE experiment_id=?1",
                   {"trials.id", "best_order", "trials"}, page, entry, experiment_id);
}

Json Engine::list_checkpoints(int64_t trial_id, const Page &page) {
  const std::lock_guard guard(mutex_);
  return list_page(records(), "checkpoints",
                   std::string(checkpoint_columns) + " WHERE (?1=0 OR trial_id=?1)",
                   {"checkpoints.id"}, page, checkpoint_entry, trial_id);
}

Json Engine::get_checkpoint(const std::string &id) {
  const std::lock_guard guard(mutex_);
  Query row = records().query(std::string(checkpoint_columns) + " WHERE uuid=?", id);
  if (!row.next())
    throw Error(Code::not_found, "reading checkpoint " + id + ": there is none in '" +
                                     records().path().string() +
                                     "'; `det checkpoints` shows the ones there are");
  Json checkpoint = checkpoint_entry(row);
  checkpoint["storage"] = stored_json(row, 10);
  return checkpoint;
}

Json Engine::list_logs(int64_t trial_id, const Page &page) {
  const std::lock_guard guard(mutex_);
  require_trial(trial_id, "listing logs");
  return list_page(
      records(), "logs", "SELECT id, time, level, rank, run_id, text FROM logs WHERE trial_id=?1",
      {"id"}, page,
      [](const Query &row) {
        return Json{{"time", time_or_null(row.integer(1))},
                    {"level", level_name(row.integer(2))},
                    {"rank", row.integer(3)},
                    {"trial_run_id", row.integer(4)},
                    {"text", row.text(5)}};
      },
      trial_id);
}

}  // namespace det::engine
