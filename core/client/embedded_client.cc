#include "core/client/embedded_client.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/client/custom_search.h"
#include "core/client/entries.h"
#include "core/client/sync.h"
#include "core/engine/garbage.h"
#include "core/engine/lifecycle.h"
#include "core/metrics/left_behind.h"

namespace det {

namespace {

const char *level_name(int64_t level) {
  static constexpr std::array<const char *, 4> names{"debug", "info", "warning", "error"};
  return names.at(static_cast<size_t>(std::clamp<int64_t>(level, 0, 3)));
}

}  // namespace

EmbeddedClient::EmbeddedClient(std::filesystem::path store_directory, StoreOptions options)
    : store_directory_(std::move(store_directory)),
      options_(std::move(options)),
      store_(open_store(store_directory_, false, options_)) {}

void EmbeddedClient::require_trial(int64_t trial_id, const char *tried) {
  if (store_.query("SELECT 1 FROM trials WHERE id=?", trial_id).next()) return;
  throw Error(Code::not_found, std::string(tried) + ": there is no trial " +
                                   std::to_string(trial_id) + " in '" + store_.path().string() +
                                   "'; `det ls` shows the ones there are");
}

Json EmbeddedClient::list_experiments(const Page &page) {
  const std::lock_guard guard(mutex_);
  return list_page(store_, "experiments", experiment_columns, {"experiments.id"}, page,
                   experiment_entry);
}

Json EmbeddedClient::list_trials(int64_t experiment_id, const Page &page) {
  const std::lock_guard guard(mutex_);
  const auto entry = [this](const Query &row) { return trial_entry(store_, row); };
  if (!page.by_metric)
    return list_page(store_, "trials",
                     std::string(trial_columns) + " WHERE (?1=0 OR experiment_id=?1)",
                     {"trials.id"}, page, entry, experiment_id);
  require_one_experiment(experiment_id);
  return list_page(store_, "trials", std::string(trial_columns) + " WHERE experiment_id=?1",
                   {"trials.id", "best_order", "trials"}, page, entry, experiment_id);
}

Json EmbeddedClient::list_checkpoints(int64_t trial_id, const Page &page) {
  const std::lock_guard guard(mutex_);
  return list_page(store_, "checkpoints",
                   std::string(checkpoint_columns) + " WHERE (?1=0 OR trial_id=?1)",
                   {"checkpoints.id"}, page, checkpoint_entry, trial_id);
}

Json EmbeddedClient::get_checkpoint(const std::string &id) {
  const std::lock_guard guard(mutex_);
  Query row = store_.query(std::string(checkpoint_columns) + " WHERE uuid=?", id);
  if (!row.next())
    throw Error(Code::not_found, "reading checkpoint " + id + ": there is none in '" +
                                     store_.path().string() +
                                     "'; `det checkpoints` shows the ones there are");
  Json checkpoint = checkpoint_entry(row);
  checkpoint["storage"] = stored_json(row, 10);
  return checkpoint;
}

Json EmbeddedClient::list_logs(int64_t trial_id, const Page &page) {
  const std::lock_guard guard(mutex_);
  require_trial(trial_id, "listing logs");
  return list_page(
      store_, "logs", "SELECT id, time, level, rank, run_id, text FROM logs WHERE trial_id=?1",
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

Json EmbeddedClient::collect_garbage(int64_t experiment_id, bool dry) {
  const std::lock_guard guard(mutex_);
  const Json experiment = entry_of_experiment(experiment_id, "deleting checkpoints");
  Collected collected;
  if (dry) {
    collected.deleted = find_garbage(store_, experiment_id);
  } else {
    const auto state = experiment.at("state").get<std::string>();
    if (!is_terminal(state))
      throw Error(Code::state, "deleting checkpoints of experiment " +
                                   std::to_string(experiment_id) + ": it is " + state +
                                   " and may need them; wait until it is over");
    Logger log;
    collected = delete_garbage(store_directory_, experiment_id, log);
  }
  Json checkpoints = Json::array();
  int64_t bytes = 0;
  for (const StoredCheckpoint &one : collected.deleted) {
    bytes += one.size;
    checkpoints.push_back({{"uuid", one.uuid},
                           {"trial_id", one.trial_id},
                           {"steps_completed", one.steps},
                           {"size", one.size}});
  }
  return {
      {"checkpoints", std::move(checkpoints)}, {"size", bytes}, {"failures", collected.failures}};
}

// Both wait, and others may use the client meanwhile.
Json EmbeddedClient::search_events(int64_t experiment_id, std::chrono::milliseconds limit) {
  Database store = open_store(store_directory_, false, options_);
  return det::search_events(store, experiment_id, limit);
}

Json EmbeddedClient::post_operations(int64_t experiment_id, int64_t event_id,
                                     const Json &operations) {
  Database store = open_store(store_directory_, false, options_);
  return det::post_operations(store, store_directory_, experiment_id, event_id, operations);
}

Json EmbeddedClient::sync() {
  // What could not be recovered is thrown; what is told besides that has no reader here.
  Logger quiet(LogLevel::error, [](LogLevel, const std::string &) {});
  return to_json(recover_runs(store_directory_, quiet));
}

}  // namespace det
