#include "core/engine/deletion.h"

#include <set>

#include "core/base/error.h"
#include "core/engine/change.h"
#include "core/engine/copied_store.h"
#include "core/engine/experiment.h"
#include "core/engine/lifecycle.h"
#include "core/engine/states.h"
#include "core/engine/storages.h"
#include "core/engine/store_places.h"
#include "core/storage/storage_location.h"

namespace det::engine {

namespace {

[[noreturn]] void refuse_deletion(int64_t experiment_id, const std::string &why) {
  throw Error(Code::state, "deleting experiment " + std::to_string(experiment_id) + ": " + why);
}

void require_over(Store &store, int64_t experiment_id, const std::string &state) {
  const std::string id = std::to_string(experiment_id);
  if (!is_terminal(state))
    refuse_deletion(
        experiment_id,
        "it is " + state + "; wait until it is over, or `det cancel -e " + id + "` ends it");
  if (supervisor_liveness(store.directory(), experiment_id) != Liveness::dead)
    refuse_deletion(experiment_id, "its `det run` is still there; try again when that has ended");
  Query open = store.database().query(
      "SELECT trial_id, run_id FROM runs JOIN trials ON id=trial_id"
      " WHERE exit IS NULL AND experiment_id=?",
      experiment_id);
  while (open.next()) {
    const std::optional<RunRecord> run = latest_run(store.database(), open.integer(0));
    if (run && run_lives(store.directory(), *run))
      refuse_deletion(experiment_id, "process " + std::to_string(run->process.pid) + " on host " +
                                         run->process.host + " still works on its trial " +
                                         std::to_string(run->trial_id) + "; wait for it");
  }
}

void require_unused(Database &store, int64_t experiment_id) {
  Query pinned = store.query(
      "SELECT uuid FROM checkpoints JOIN trials ON trials.id=trial_id"
      " WHERE experiment_id=? AND registered<>0 LIMIT 1",
      experiment_id);
  if (pinned.next())
    refuse_deletion(experiment_id, "its checkpoint " + pinned.text(0) +
                                       " is pinned; `det checkpoints unpin` lets it go");
  Query user = store.query(
      "SELECT users.id FROM experiments AS users JOIN checkpoints ON uuid=users.source"
      " JOIN trials ON trials.id=trial_id WHERE users.id<>?1 AND trials.experiment_id=?1"
      " AND users.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED')"
      " ORDER BY users.id LIMIT 1",
      experiment_id);
  if (user.next())
    refuse_deletion(experiment_id, "experiment " + std::to_string(user.integer(0)) +
                                       " starts from its checkpoints and is not over; wait for it");
}

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

// A file system that is not mounted looks as if nothing were there.
void require_there(const storage::Storage &storage) {
  const std::filesystem::path directory = storage.directory();
  if (!directory.empty() && !std::filesystem::exists(directory))
    throw Error(Code::not_found, "'" + directory.string() +
                                     "' is not there; mount it, or make an empty directory in its "
                                     "place if its files are gone for good");
}

}  // namespace

void begin_deletion(Store &store, int64_t experiment_id) {
  Change change(store);
  {
    Query row = change.records().query("SELECT state FROM experiments WHERE id=?", experiment_id);
    if (!row.next())
      throw Error(Code::not_found, "deleting experiment " + std::to_string(experiment_id) +
                                       ": there is none in '" + change.records().path().string() +
                                       "'; `det ls -e` shows the ones there are");
    require_over(store, experiment_id, row.text(0));
    require_unused(change.records(), experiment_id);
    require_own_files(change.records(), experiment_id);
  }
  change.records().run("UPDATE experiments SET state=? WHERE id=?", state::deleting, experiment_id);
  // Nobody starts from what may begin to go.
  change.records().run(
      "UPDATE checkpoints SET state='PARTIALLY_DELETED' WHERE state<>'DELETED'"
      " AND trial_id IN (SELECT id FROM trials WHERE experiment_id=?)",
      experiment_id);
  change.commit();
}

std::vector<Json> storages_of(Database &store, int64_t experiment_id) {
  std::set<std::string> found;
  Query rows = store.query(
      "SELECT DISTINCT storage FROM trials JOIN checkpoints ON trial_id=trials.id"
      " WHERE experiment_id=?",
      experiment_id);
  const auto add = [&](const Json &recorded) {
    found.insert(to_wire(used_storage(home_of(store), recorded)));
  };
  while (rows.next()) add(parse_json(rows.view(0), "a stored storage"));
  Query config = store.query("SELECT config FROM experiments WHERE id=?", experiment_id);
  if (config.next())
    if (const Json section =
            read_config(store, experiment_id, config.view(0)).value("checkpoint_storage", Json());
        storage::says_where(section))
      add(section);
  std::vector<Json> storages;
  for (const std::string &text : found) storages.push_back(parse_json(text, "a stored storage"));
  return storages;
}

DeletedFiles delete_files(Database &store, int64_t experiment_id, Logger &logger) {
  const std::vector<StoredFiles> files = files_of(store, experiment_id);
  Storages storages(home_of(store), logger);
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
    store.run("UPDATE checkpoints SET state='DELETED' WHERE id=?", one.id);
    ++deleted.checkpoints;
    deleted.size += one.size;
  }
  storages.reclaim();
  if (failure) throw Error(*failure);
  return deleted;
}

void require_unpinned(Database &store, const std::string &uuid) {
  if (store.query("SELECT 1 FROM checkpoints WHERE uuid=? AND registered<>0", uuid).next())
    throw Error(Code::state, "deleting checkpoint " + uuid +
                                 ": it is pinned; `det checkpoints unpin` lets it go");
}

namespace {

void require_unused(Database &store, const std::string &uuid) {
  require_unpinned(store, uuid);
  Query user = store.query(
      "SELECT id FROM experiments WHERE state NOT IN"
      " ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED') AND source=?"
      " ORDER BY id LIMIT 1",
      uuid);
  if (user.next())
    throw Error(Code::state, "deleting checkpoint " + uuid + ": experiment " +
                                 std::to_string(user.integer(0)) +
                                 " starts from it and is not over; wait for it");
}

}  // namespace

// Before the first file goes, nobody begins with it any more. Who is killed in between leaves it
// so, for another deletion to go on.
int64_t delete_checkpoint(Store &store, const std::string &uuid, Logger &logger) {
  std::string where;
  int64_t size = 0;
  Change change(store);
  {
    Query row = change.records().query("SELECT storage, size FROM checkpoints WHERE uuid=?", uuid);
    if (!row.next())
      throw Error(Code::not_found, "deleting checkpoint " + uuid + ": there is none in '" +
                                       change.records().path().string() +
                                       "'; `det checkpoints` shows the ones there are");
    where = row.text(0);
    size = row.integer(1);
  }
  require_unused(change.records(), uuid);
  require_own_files(change.records(), uuid);
  change.records().run(
      "UPDATE checkpoints SET state='PARTIALLY_DELETED' WHERE uuid=? AND state<>'DELETED'", uuid);
  change.commit();
  Storages storages(home_of(store.database()), logger);
  require_there(storages.of(where));
  storages.of(where).remove(uuid);
  store.database().run("UPDATE checkpoints SET state='DELETED' WHERE uuid=?", uuid);
  return size;
}

void note_failed_deletion(Database &store, int64_t experiment_id) {
  store.run("UPDATE experiments SET state=? WHERE id=? AND state=?", state::delete_failed,
            experiment_id, state::deleting);
}

}  // namespace det::engine
