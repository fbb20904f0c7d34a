#include "core/engine/records/deletion.h"

#include <set>

#include "core/base/error.h"
#include "core/engine/change.h"
#include "core/engine/checkpoints/storages.h"
#include "core/engine/copied_store.h"
#include "core/engine/experiment.h"
#include "core/engine/runs/lifecycle.h"
#include "core/engine/runs/ranks.h"
#include "core/engine/states.h"
#include "core/engine/store_places.h"
#include "core/journal/run_directory.h"
#include "core/storage/storage_location.h"
#include "core/storage/tree.h"

namespace det::engine {

namespace {

constexpr int64_t rows_at_once = 10'000;

struct StoredFiles {
  int64_t id = 0;
  std::string uuid, storage;
  int64_t size = 0;
};

std::vector<StoredFiles> files_of(Database &store, int64_t experiment_id) {
  std::vector<StoredFiles> files;
  Query rows = store.query(
      "SELECT checkpoints.id, uuid, storage, size FROM trials"
      " JOIN checkpoints ON trial_id=trials.id"
      " WHERE experiment_id=? AND checkpoints.state<>'DELETED' ORDER BY checkpoints.id",
      experiment_id);
  while (rows.next())
    files.push_back({rows.integer(0), rows.text(1), rows.text(2), rows.integer(3)});
  return files;
}

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

void ExperimentDeletion::refuse(const std::string &why) const {
  throw Error(Code::state, "deleting experiment " + std::to_string(experiment_id_) + ": " + why);
}

void ExperimentDeletion::require_over(const std::string &state) {
  const std::string id = std::to_string(experiment_id_);
  if (!is_terminal(state))
    refuse("it is " + state + "; wait until it is over, or `det cancel -e " + id + "` ends it");
  if (supervisor_liveness(store_.directory(), experiment_id_) != Liveness::dead)
    refuse("its `det run` is still there; try again when that has ended");
  Query open = records().query(
      "SELECT trial_id, run_id FROM runs JOIN trials ON id=trial_id"
      " WHERE exit IS NULL AND experiment_id=?",
      experiment_id_);
  while (open.next()) {
    const std::optional<RunRecord> run = latest_run(records(), open.integer(0));
    if (run && run_lives(store_.directory(), *run))
      refuse("process " + std::to_string(run->process.pid) + " on host " + run->process.host +
             " still works on its trial " + std::to_string(run->trial_id) + "; wait for it");
  }
}

void ExperimentDeletion::require_unused() {
  Query pinned = records().query(
      "SELECT uuid FROM checkpoints JOIN trials ON trials.id=trial_id"
      " WHERE experiment_id=? AND registered<>0 LIMIT 1",
      experiment_id_);
  if (pinned.next())
    refuse("its checkpoint " + pinned.text(0) + " is pinned; `det checkpoints unpin` lets it go");
  Query user = records().query(
      "SELECT users.id FROM experiments AS users JOIN checkpoints ON uuid=users.source"
      " JOIN trials ON trials.id=trial_id WHERE users.id<>?1 AND trials.experiment_id=?1"
      " AND users.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED')"
      " ORDER BY users.id LIMIT 1",
      experiment_id_);
  if (user.next())
    refuse("experiment " + std::to_string(user.integer(0)) +
           " starts from its checkpoints and is not over; wait for it");
}

// Nobody starts from what may begin to go.
void ExperimentDeletion::announce() {
  const auto guard = store_.lock();
  Change change(store_);
  {
    Query row = records().query("SELECT state FROM experiments WHERE id=?", experiment_id_);
    if (!row.next())
      throw Error(Code::not_found, "deleting experiment " + std::to_string(experiment_id_) +
                                       ": not found in '" + records().path().string() +
                                       "'; `det ls -e` shows the ones there are");
    require_over(row.text(0));
    require_unused();
    require_own_files(records(), experiment_id_);
  }
  records().run("UPDATE experiments SET state=? WHERE id=?", state::deleting, experiment_id_);
  records().run(
      "UPDATE checkpoints SET state='PARTIALLY_DELETED' WHERE state<>'DELETED'"
      " AND trial_id IN (SELECT id FROM trials WHERE experiment_id=?)",
      experiment_id_);
  change.commit();
}

KeptFiles ExperimentDeletion::begin() {
  announce();
  return kept_files();
}

std::vector<Json> ExperimentDeletion::storages() {
  std::set<std::string> found;
  Query rows = records().query(
      "SELECT DISTINCT storage FROM trials JOIN checkpoints ON trial_id=trials.id"
      " WHERE experiment_id=?",
      experiment_id_);
  const auto add = [&](const Json &recorded) {
    found.insert(to_wire(used_storage(home_of(records()), recorded)));
  };
  while (rows.next()) add(parse_json(rows.view(0), "a stored storage"));
  Query config = records().query("SELECT config FROM experiments WHERE id=?", experiment_id_);
  if (config.next())
    if (const Json section = read_config(records(), experiment_id_, config.view(0))
                                 .value("checkpoint_storage", Json());
        storage::says_where(section))
      add(section);
  std::vector<Json> all;
  for (const std::string &text : found) all.push_back(parse_json(text, "a stored storage"));
  return all;
}

KeptFiles ExperimentDeletion::kept_files() {
  const auto guard = store_.lock();
  KeptFiles kept{cluster_ids_of(records(), experiment_id_), {}, {}};
  const CopiedStore copied(records());
  const bool is_shared = copied.original_of_experiment(experiment_id_) != nullptr;
  for (Json &storage : storages()) {
    const bool is_outside =
        is_shared && copied.is_outside(recorded_storage(home_of(records()), storage));
    (is_outside ? kept.shared_storages : kept.storages).push_back(std::move(storage));
  }
  return kept;
}

DeletedFiles ExperimentDeletion::delete_files(Logger &logger) {
  const auto guard = store_.lock();
  const std::vector<StoredFiles> files = files_of(records(), experiment_id_);
  Storages storages(home_of(records()), logger);
  DeletedFiles deleted;
  std::optional<Error> failure;
  for (const StoredFiles &one : files) {
    try {
      require_there(storages.of(one.storage));
      storages.of(one.storage).remove(one.uuid);
    } catch (const Error &error) {
      if (!failure)
        failure =
            Error(error.code, "deleting the files of checkpoint " + one.uuid + ": " + error.what(),
                  error.os_errno);
      continue;
    }
    records().run("UPDATE checkpoints SET state='DELETED' WHERE id=?", one.id);
    ++deleted.checkpoints;
    deleted.size += one.size;
  }
  storages.reclaim();
  if (failure) throw Error(*failure);
  return deleted;
}

void ExperimentDeletion::note_failure() {
  const auto guard = store_.lock();
  records().run("UPDATE experiments SET state=? WHERE id=? AND state=?", state::delete_failed,
                experiment_id_, state::deleting);
}

void ExperimentDeletion::delete_records() {
  const auto guard = store_.lock();
  while (const auto trial = any_trial(records(), experiment_id_)) delete_trial(store_, *trial);
  storage::remove_tree(experiment_directory(store_.directory(), experiment_id_));
  Change change(store_);
  for (const char *table : {"search_queue", "search_posts", "search_events"})
    records().run(std::string("DELETE FROM ") + table + " WHERE experiment_id=?", experiment_id_);
  records().run("DELETE FROM experiments WHERE id=?", experiment_id_);
  change.commit();
}

}  // namespace det::engine
