// The last part of a deletion: what an experiment has in the store and beside it.
#include "core/base/error.h"
#include "core/engine/change.h"
#include "core/engine/deletion.h"
#include "core/engine/experiment.h"
#include "core/engine/ranks.h"
#include "core/journal/run_directory.h"
#include "core/storage/shared_directory.h"

namespace det::engine {

namespace {

constexpr int64_t rows_at_once = 10'000;

// Its journal, and the directory in which a killed process left it.
void delete_rank(Store &store, int64_t trial_id, int64_t run_id, int rank,
                 const std::string &journal_id) {
  const auto directory = journal::run_directory(store.directory(), trial_id, run_id, rank);
  if (std::filesystem::exists(directory)) {
    if (!OwnerLock::take_over(journal::owner_file(directory)))
      throw Error(Code::busy, "deleting trial " + std::to_string(trial_id) + ": a process uses '" +
                                  directory.string() + "'; try again when it has ended");
    journal::discard_run_directory(directory);
  }
  store.database().run("DELETE FROM journals WHERE journal_id=?",
                       rank_journal_id(journal_id, rank));
}

void delete_runs(Store &store, int64_t trial_id) {
  std::vector<std::pair<int64_t, std::string>> runs;
  {
    Query rows =
        store.database().query("SELECT run_id, journal_id FROM runs WHERE trial_id=?", trial_id);
    while (rows.next()) runs.emplace_back(rows.integer(0), rows.text(1));
  }
  for (const auto &[run_id, journal_id] : runs)
    for (const RankRecord &rank : ranks_of(store.database(), trial_id, run_id))
      delete_rank(store, trial_id, run_id, rank.rank, journal_id);
}

// Whether there are no more.
bool delete_some(Database &store, const std::string &table, int64_t trial_id) {
  store.run("DELETE FROM " + table + " WHERE id IN (SELECT id FROM " + table +
                " WHERE trial_id=? LIMIT ?)",
            trial_id, rows_at_once);
  return store.changes() < rows_at_once;
}

void delete_trial(Store &store, int64_t trial_id) {
  for (bool done = false; !done;) {
    Change change(store, Durability::relaxed);
    Database &records = change.records();
    done = delete_some(records, "metrics", trial_id) && delete_some(records, "logs", trial_id);
    if (done) {
      delete_runs(store, trial_id);
      for (const char *table :
           {"ranks", "signals", "runs", "rollbacks", "operations", "metric_names", "checkpoints"})
        records.run(std::string("DELETE FROM ") + table + " WHERE trial_id=?", trial_id);
      records.run("DELETE FROM trials WHERE id=?", trial_id);
    }
    change.commit();
  }
}

std::optional<int64_t> any_trial(Database &store, int64_t experiment_id) {
  Query row = store.query("SELECT id FROM trials WHERE experiment_id=? LIMIT 1", experiment_id);
  return row.next() ? std::optional(row.integer(0)) : std::nullopt;
}

}  // namespace

void delete_records(Store &store, int64_t experiment_id) {
  while (const auto trial = any_trial(store.database(), experiment_id)) delete_trial(store, *trial);
  storage::remove_tree(experiment_directory(store.directory(), experiment_id));
  Change change(store);
  for (const char *table : {"search_queue", "search_posts", "search_events"})
    change.records().run(std::string("DELETE FROM ") + table + " WHERE experiment_id=?",
                         experiment_id);
  change.records().run("DELETE FROM experiments WHERE id=?", experiment_id);
  change.commit();
}

}  // namespace det::engine
