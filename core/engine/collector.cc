// The removal of checkpoints that are not kept.
#include <set>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/engine/copied_store.h"
#include "core/engine/garbage.h"
#include "core/engine/storages.h"
#include "core/engine/store.h"
#include "core/engine/store_places.h"
#include "core/storage/tree.h"

namespace det::engine {

namespace {

// What is announced as partially deleted before the first file goes is taken up again by whoever
// comes next, and nobody restores it meanwhile.
class Collector {
 public:
  Collector(Database store, Logger &logger)
      : store_(std::move(store)),
        logger_(logger),
        storages_(home_of(store_), logger),
        copied_(store_) {}

  Collected collect(int64_t experiment_id) {
    std::vector<StoredCheckpoint> garbage = find_garbage(store_, experiment_id);
    std::erase_if(garbage,
                  [&](const StoredCheckpoint &one) { return is_shared(one) || !is_there(one); });
    announce(garbage, experiment_id);
    for (StoredCheckpoint &one : garbage) remove(std::move(one));
    storages_.reclaim();
    return std::move(collected_);
  }

 private:
  void fail(const StoredCheckpoint &one, const std::exception &why) {
    ++collected_.failures;
    logger_.warning("deleting checkpoint " + one.uuid + " of trial " +
                    std::to_string(one.trial_id) + ", which is not kept: " + why.what());
  }

  void mark(const StoredCheckpoint &one, std::string_view state) {
    store_.run("UPDATE checkpoints SET state=? WHERE id=?", state, one.id);
  }

  storage::Storage &storage_of(const StoredCheckpoint &one) { return storages_.of(one.storage); }

  // Of a copied store, with the other one.
  bool is_shared(const StoredCheckpoint &one) const {
    return copied_.shares(one.id, parse_json(one.storage, "where a checkpoint is"));
  }

  // A checkpoint that somebody else removed is left as it is.
  bool is_there(const StoredCheckpoint &one) {
    try {
      storage_of(one).list(one.uuid);
      return true;
    } catch (const Error &e) {
      if (e.code == Code::not_found && one.state == "PARTIALLY_DELETED") return true;
      fail(one, e);
      return false;
    }
  }

  // Without what somebody has begun to need since it was found.
  void announce(std::vector<StoredCheckpoint> &garbage, int64_t experiment_id) {
    if (garbage.empty()) return;
    Transaction transaction(store_);
    std::set<int64_t> still;
    for (const StoredCheckpoint &one : find_garbage(store_, experiment_id)) still.insert(one.id);
    std::erase_if(garbage, [&](const StoredCheckpoint &one) { return !still.contains(one.id); });
    for (const StoredCheckpoint &one : garbage) mark(one, "PARTIALLY_DELETED");
    transaction.commit();
    logger_.debug("deleting " + std::to_string(garbage.size()) + " checkpoints that are not kept");
  }

  void remove(StoredCheckpoint one) {
    try {
      storage_of(one).remove(one.uuid);
    } catch (const Error &e) {
      fail(one, e);
      return record_remains(one);
    }
    logger_.debug("deleted the files of checkpoint " + one.uuid);
    mark(one, "DELETED");
    collected_.deleted.push_back(std::move(one));
  }

  void record_remains(const StoredCheckpoint &one) {
    try {
      storage::Resources remains = storage_of(one).list(one.uuid);
      const Json before = parse_json_object(one.resources, "stored resources");
      if (!before.contains(storage::metadata_name)) remains.erase(storage::metadata_name);
      if (Json(remains) == before && one.state == "COMPLETED") return mark(one, one.state);
      uint64_t size = 0;
      for (const auto &[path, bytes] : remains) size += bytes;
      store_.run("UPDATE checkpoints SET resources=?, size=? WHERE id=?", to_wire(Json(remains)),
                 size, one.id);
    } catch (const Error &e) {
      if (e.code == Code::not_found) mark(one, "DELETED");
    }
  }

  Database store_;
  Logger &logger_;
  Storages storages_;
  const CopiedStore copied_;
  Collected collected_;
};

}  // namespace

Collected delete_garbage(const std::filesystem::path &store_directory, int64_t experiment_id,
                         Logger &logger) {
  return Collector(open_store(store_directory, false, {}), logger).collect(experiment_id);
}

void collect_garbage(const std::filesystem::path &store_directory, int64_t experiment_id,
                     Logger &logger) {
  try {
    delete_garbage(store_directory, experiment_id, logger);
  } catch (const std::exception &e) {
    logger.warning("deleting the checkpoints of experiment " + std::to_string(experiment_id) +
                   " that are not kept: " + e.what() + "; `det gc " +
                   std::to_string(experiment_id) + "` tries again");
  }
}

}  // namespace det::engine
