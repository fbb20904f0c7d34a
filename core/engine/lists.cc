#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/config/secrets.h"
#include "core/engine/engine.h"
#include "core/engine/entries.h"
#include "core/engine/experiment.h"
#include "core/engine/store_places.h"

namespace det::engine {

namespace {

const char *level_name(int64_t level) {
  static constexpr std::array<const char *, 4> names{"debug", "info", "warning", "error"};
  return names.at(static_cast<size_t>(std::clamp<int64_t>(level, 0, 3)));
}

}  // namespace

namespace {

// As fnmatch(3) has it; the database writes a class that is not meant otherwise.
std::string glob_from(std::string glob) {
  for (size_t at = 0; (at = glob.find("[!", at)) != glob.npos; at += 2) glob[at + 1] = '^';
  return glob;
}

}  // namespace

Json Engine::list_experiments(const Page &page) {
  const std::lock_guard guard(mutex_);
  const LiveTrials live(records(), store_.directory());
  // The parameters of filter_sql(); ?1 is that of lists of trials.
  std::string sql = experiment_columns(records().dialect()) + " WHERE ?1=0" +
                    filter_sql(page.filter, "state", records().dialect());
  if (page.filter.running) sql += live.only_experiments("experiments.id");
  return list_page(
      records(), "experiments", std::move(sql), {"experiments.id"}, page,
      [&](const Query &row) { return experiment_entry(row, live); }, 0, glob_from(page.filter.name),
      page.filter.tag);
}

Json Engine::list_trials(int64_t experiment_id, const Page &page) {
  const std::lock_guard guard(mutex_);
  const LiveTrials live(records(), store_.directory());
  Filter filter = page.filter;
  if (experiment_id != 0) {
    require_experiment(experiment_id, "listing trials");
    if (filter.archived == Archived::without) filter.archived = Archived::with;
  }
  std::string sql = std::string(trial_columns) +
                    (experiment_id != 0 ? " WHERE experiment_id=?1" : " WHERE ?1=0") +
                    filter_sql(filter, "trials.state", records().dialect());
  if (filter.running) sql += live.only_trials("trials.id");
  const RowOrder by_id{"trials.id"}, by_metric{"trials.id", "best_order", "trials"};
  return list_page(
      records(), "trials", std::move(sql), page.by_metric ? by_metric : by_id, page,
      [&](const Query &row) { return trial_entry(records(), row, live); }, experiment_id,
      glob_from(filter.name), filter.tag);
}

Json Engine::list_checkpoints(int64_t trial_id, const Page &page) {
  const std::lock_guard guard(mutex_);
  require_no_filter(page, "listing checkpoints");
  if (trial_id != 0) require_trial(trial_id, "listing checkpoints");
  return list_page(
      records(), "checkpoints",
      std::string(checkpoint_columns) + (trial_id != 0 ? " WHERE trial_id=?1" : " WHERE ?1=0"),
      {"checkpoints.id"}, page, checkpoint_entry, trial_id);
}

Json Engine::checkpoint_usage() {
  const std::lock_guard guard(mutex_);
  Query row = records().query(
      "SELECT experiments.id, experiments.name, COUNT(*), SUM(checkpoints.size) AS total"
      " FROM checkpoints JOIN trials ON trials.id=trial_id"
      " JOIN experiments ON experiments.id=experiment_id WHERE checkpoints.state<>'DELETED'"
      " GROUP BY experiments.id, experiments.name ORDER BY total DESC, experiments.id");
  Json experiments = Json::array();
  while (row.next())
    experiments.push_back({{"experiment_id", row.integer(0)},
                           {"name", row.text(1)},
                           {"checkpoints", row.integer(2)},
                           {"size", row.integer(3)}});
  return {{"experiments", std::move(experiments)}};
}

Json Engine::get_checkpoint(const std::string &id) {
  const std::lock_guard guard(mutex_);
  return entry_of_checkpoint(id);
}

Json Engine::entry_of_checkpoint(const std::string &id) {
  Query row = records().query(std::string(checkpoint_columns) + " WHERE uuid=?", id);
  if (!row.next())
    throw Error(Code::not_found, "reading checkpoint " + id + ": there is none in '" +
                                     records().path().string() +
                                     "'; `det checkpoints` shows the ones there are");
  Json checkpoint = checkpoint_entry(row);
  checkpoint["storage"] =
      config::storage_with_masked_secrets(used_storage(home_of(records()), stored_json(row, 10)));
  return checkpoint;
}

Json Engine::checkpoint_storage(const std::string &id) {
  const std::lock_guard guard(mutex_);
  Query row = records().query(
      "SELECT storage, experiments.id, config FROM checkpoints"
      " JOIN trials ON trials.id=trial_id JOIN experiments ON experiments.id=experiment_id"
      " WHERE uuid=?",
      id);
  if (!row.next()) return entry_of_checkpoint(id);  // which says that there is none
  const Json storage = used_storage(home_of(records()), stored_json(row, 0));
  if (!storage.is_object()) return storage;
  // What is recorded of a checkpoint lacks the credentials.
  Json whole =
      read_config(records(), row.integer(1), row.view(2)).value("checkpoint_storage", Json());
  const bool is_the_same =
      whole.is_object() && std::ranges::all_of(storage.items(), [&](const auto &item) {
        return whole.value(item.key(), Json()) == item.value();
      });
  return is_the_same ? std::move(whole) : storage;
}

Json Engine::list_logs(int64_t trial_id, const Page &page) {
  const std::lock_guard guard(mutex_);
  require_no_filter(page, "listing logs");
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
