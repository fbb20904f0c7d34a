#include "core/engine/checkpoints/stored_checkpoints.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/config/secrets.h"
#include "core/engine/change.h"
#include "core/engine/checkpoints/garbage.h"
#include "core/engine/checkpoints/storages.h"
#include "core/engine/copied_store.h"
#include "core/engine/experiment.h"
#include "core/engine/records/entries.h"
#include "core/engine/records/find.h"
#include "core/engine/states.h"
#include "core/engine/store_places.h"

namespace det::engine {

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

Json StoredCheckpoints::entry(const std::string &id) {
  Query row = records().query(std::string(checkpoint_columns) + " WHERE uuid=?", id);
  if (!row.next())
    throw Error(Code::not_found, "reading checkpoint " + id + ": not found in '" +
                                     records().path().string() +
                                     "'; `det checkpoints` shows the ones there are");
  Json checkpoint = checkpoint_entry(row);
  checkpoint["storage"] =
      config::storage_with_masked_secrets(used_storage(home_of(records()), stored_json(row, 10)));
  return checkpoint;
}

Json StoredCheckpoints::list(int64_t trial_id, const Page &page) {
  const auto guard = store_.lock();
  require_no_filter(page, "listing checkpoints");
  if (trial_id != 0) require_trial(records(), trial_id, "listing checkpoints");
  return list_page(
      records(), "checkpoints",
      std::string(checkpoint_columns) + (trial_id != 0 ? " WHERE trial_id=?1" : " WHERE ?1=0"),
      {"checkpoints.id"}, page, checkpoint_entry, trial_id);
}

Json StoredCheckpoints::get(const std::string &id) {
  const auto guard = store_.lock();
  return entry(id);
}

Json StoredCheckpoints::find(const std::string &text) {
  {
    const auto guard = store_.lock();
    if (!records().query("SELECT 1 FROM checkpoints WHERE uuid=?", text).next()) {
      const std::string prefix = checkpoint_prefix(text);
      std::vector<FoundCheckpoint> found;
      Query rows = records().query(
          "SELECT uuid, trial_id, steps FROM checkpoints WHERE uuid>=? ORDER BY uuid LIMIT ?",
          prefix, static_cast<int64_t>(most_candidates + 1));
      while (rows.next() && rows.view(0).starts_with(prefix))
        found.push_back({rows.text(0), rows.integer(1), rows.integer(2)});
      return entry(only_checkpoint(text, found, records().path().string()));
    }
  }
  return get(text);
}

Json StoredCheckpoints::storage_of(const std::string &id) {
  const auto guard = store_.lock();
  Query row = records().query(
      "SELECT storage, experiments.id, config FROM checkpoints"
      " JOIN trials ON trials.id=trial_id JOIN experiments ON experiments.id=experiment_id"
      " WHERE uuid=?",
      id);
  if (!row.next()) return entry(id);  // which says that there is none
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

Json StoredCheckpoints::usage() {
  const auto guard = store_.lock();
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

// Before this it may have been found to be deleted, and after it no more.
Json StoredCheckpoints::pin(const std::string &id, bool pinned) {
  const auto guard = store_.lock();
  {
    Change change(store_);
    const Json before = entry(id);
    if (pinned && before.at("state") != "COMPLETED")
      throw Error(Code::state, "pinning checkpoint " + id + ": it is " +
                                   before.at("state").get<std::string>() +
                                   ", and its files are gone or about to be");
    change.records().run("UPDATE checkpoints SET registered=? WHERE uuid=?", pinned, id);
    change.commit();
  }
  return entry(id);
}

// Before the first file goes, nobody begins with it any more. Who is killed in between leaves it
// so, for another deletion to go on.
Json StoredCheckpoints::remove(const std::string &id, Logger &logger) {
  const auto guard = store_.lock();
  std::string where;
  int64_t size = 0;
  Change change(store_);
  {
    Query row = records().query("SELECT storage, size FROM checkpoints WHERE uuid=?", id);
    if (!row.next())
      throw Error(Code::not_found, "deleting checkpoint " + id + ": not found in '" +
                                       records().path().string() +
                                       "'; `det checkpoints` shows the ones there are");
    where = row.text(0);
    size = row.integer(1);
  }
  require_unused(records(), id);
  require_own_files(records(), id);
  records().run(
      "UPDATE checkpoints SET state='PARTIALLY_DELETED' WHERE uuid=? AND state<>'DELETED'", id);
  change.commit();
  Storages storages(home_of(records()), logger);
  require_there(storages.of(where));
  storages.of(where).remove(id);
  records().run("UPDATE checkpoints SET state='DELETED' WHERE uuid=?", id);
  return {{"uuid", id}, {"size", size}};
}

Json StoredCheckpoints::collect_garbage(int64_t experiment_id, bool dry, Logger &logger) {
  const auto guard = store_.lock();
  std::string state;
  {
    Query row = records().query("SELECT state FROM experiments WHERE id=?", experiment_id);
    if (!row.next()) throw_no_experiment(records(), experiment_id, "deleting checkpoints");
    state = row.text(0);
  }
  Collected collected;
  if (dry) {
    collected.deleted = find_garbage(records(), experiment_id);
  } else {
    if (!is_terminal(state))
      throw Error(Code::state, "deleting checkpoints of experiment " +
                                   std::to_string(experiment_id) + ": it is " + state +
                                   " and may need them; wait until it is over");
    collected = delete_garbage(store_.directory(), experiment_id, logger);
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

}  // namespace det::engine
