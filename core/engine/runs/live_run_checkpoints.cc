// Checkpoints of a run that lives.
#include "core/engine/change.h"
#include "core/engine/checkpoints/checkpoint_records.h"
#include "core/engine/checkpoints/garbage.h"
#include "core/engine/copied_store.h"
#include "core/engine/records/deletion.h"
#include "core/engine/runs/live_run.h"
#include "core/engine/store_places.h"

namespace det::engine {

void LiveRun::report_checkpoint(const CheckpointReport &report) {
  const std::lock_guard guard(mutex_);
  Change change(store_);
  record_checkpoint(records(), run_.info, report);
  change.commit();
}

bool LiveRun::knows_checkpoint(const std::string &id) {
  const std::lock_guard guard(mutex_);
  return records().query("SELECT 1 FROM checkpoints WHERE uuid=? AND state='COMPLETED'", id).next();
}

// Only this library reports to a store.
bool LiveRun::has_made_checkpoint(const std::string &id) {
  const std::lock_guard guard(mutex_);
  return records().query("SELECT 1 FROM checkpoints WHERE uuid=?", id).next();
}

bool LiveRun::move_checkpoint(const std::string &id, std::string_view from, std::string_view to) {
  records().run("UPDATE checkpoints SET state=? WHERE uuid=? AND state=?", to, id, from);
  return records().changes() > 0;
}

bool LiveRun::withdraw_checkpoint(const std::string &id) {
  const std::lock_guard guard(mutex_);
  Change change(store_);
  require_own_files(records(), id);
  require_unpinned(records(), id);
  const bool moved = move_checkpoint(id, "COMPLETED", "PARTIALLY_DELETED");
  change.commit();
  return moved;
}

bool LiveRun::reinstate_checkpoint(const std::string &id) {
  const std::lock_guard guard(mutex_);
  Change change(store_);
  const bool moved = move_checkpoint(id, "PARTIALLY_DELETED", "COMPLETED");
  change.commit();
  return moved;
}

// A power cut may take this back: who then looks for the files finds that they are gone.
std::vector<WithdrawnCheckpoint> LiveRun::withdraw_superseded(const std::set<std::string> &held) {
  const std::lock_guard guard(mutex_);
  const int64_t trial_id = run_.info.trial_id;
  const auto find = [&] {
    std::vector<StoredCheckpoint> found = find_superseded(records(), trial_id);
    std::erase_if(found, [&](const StoredCheckpoint &one) { return held.contains(one.uuid); });
    return found;
  };
  std::vector<WithdrawnCheckpoint> withdrawn;
  if (find().empty()) return withdrawn;
  const CopiedStore copied(records());
  Change change(store_, Durability::relaxed);
  std::string storage;
  {
    Query newest = records().query(
        "SELECT storage FROM checkpoints WHERE trial_id=? AND run_id=? ORDER BY id DESC LIMIT 1",
        trial_id, run_.info.run_id);
    if (newest.next()) storage = newest.text(0);
  }
  for (const StoredCheckpoint &one : find()) {
    if (one.storage != storage) continue;
    if (copied.shares(one.id, parse_json(one.storage, "where a checkpoint is"))) continue;
    records().run("UPDATE checkpoints SET state='PARTIALLY_DELETED' WHERE id=?", one.id);
    withdrawn.push_back({one.uuid, one.state == "COMPLETED"});
  }
  change.commit();
  return withdrawn;
}

std::vector<CheckpointEntry> LiveRun::checkpoints() {
  const std::lock_guard guard(mutex_);
  std::vector<CheckpointEntry> all;
  Query row = records().query(
      "SELECT uuid, steps, time, size FROM checkpoints WHERE trial_id=? AND state='COMPLETED'"
      " ORDER BY steps DESC, time DESC, id DESC",
      run_.info.trial_id);
  while (row.next()) all.push_back({row.text(0), row.integer(1), row.integer(2), row.integer(3)});
  return all;
}

std::optional<Json> LiveRun::checkpoint_metadata(const std::string &id) {
  const std::lock_guard guard(mutex_);
  Query found = records().query("SELECT metadata FROM checkpoints WHERE uuid=?", id);
  if (!found.next()) return std::nullopt;
  return parse_json_object(found.view(0), "the metadata of checkpoint " + id);
}

std::optional<Json> LiveRun::checkpoint_storage(const std::string &id) {
  const std::lock_guard guard(mutex_);
  Query found = records().query("SELECT storage FROM checkpoints WHERE uuid=?", id);
  if (!found.next()) return std::nullopt;
  return used_storage(home_of(records()),
                      parse_json(found.view(0), "where checkpoint " + id + " is"));
}

void LiveRun::checkpoint_deleted(const std::string &id) {
  const std::lock_guard guard(mutex_);
  Change change(store_);
  records().run("UPDATE checkpoints SET state='DELETED' WHERE uuid=?", id);
  change.commit();
}

}  // namespace det::engine
