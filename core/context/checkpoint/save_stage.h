// Where asynchronous saves wait on this machine, in memory or on a disk of its own, until they are
// stored; afterwards, as long as there is room, the copy that is nearest to whoever restores it.
// And what happens to saves that a killed process did not live to finish, staged or not.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/log/log.h"
#include "core/engine/runs/run_backend.h"
#include "core/engine/runs/run_info.h"
#include "core/storage/directory_storage.h"

namespace det::context {

class SaveStage {
 public:
  // Below `directory`, in a place of this user's own.
  SaveStage(const std::filesystem::path &directory, uint64_t limit_bytes,
            const std::string &cluster_id, const std::shared_ptr<Logger> &logger);

  uint64_t limit_bytes() const { return limit_bytes_; }
  const std::filesystem::path &path() const { return path_; }

  std::unique_ptr<storage::CheckpointWriter> begin(const std::string &id);
  // Of this owner's processes that are gone.
  std::vector<std::unique_ptr<storage::CheckpointWriter>> take_sealed(const std::string &owner);

  // Drops what is kept, the oldest first, until `bytes` and what is under way are within the limit;
  // what is being read stays. A save that is copied here next is written over it.
  enum class Bytes { come, are_there };
  void make_room(uint64_t bytes, Bytes where, uint64_t under_way);
  // The memory that is beyond the limit where the bytes are there, which takes a while: nobody
  // waits for a save then.
  void give_free();
  // It is stored: from now on it is only kept. What fails is told in the log.
  void keep(storage::CheckpointWriter &writer, storage::Progress *progress = nullptr);
  void drop(const std::string &id);  // its memory is kept for the next save

  // Whether there is a copy with the same files, as paths and sizes tell.
  bool has(const std::string &id, const storage::Resources &resources);
  // As long as this is there, the copy is not dropped to make room.
  std::shared_ptr<void> pin(const std::string &id);
  storage::Storage &storage() { return storage_; }

 private:
  struct Kept {
    std::string id;
    int64_t time_ns;
    uint64_t bytes;
  };
  std::vector<Kept> kept();  // the oldest first

  const std::filesystem::path path_;
  const uint64_t limit_bytes_;
  const std::shared_ptr<Logger> logger_;
  const std::shared_ptr<storage::SpareFiles> spares_;
  storage::DirectoryStorage storage_;
  std::atomic<uint64_t> left_{0};  // for spares
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<void>> pins_;
};

// The one that a run has, which may be replaced while others use it.
class CurrentStage {
 public:
  std::shared_ptr<SaveStage> get();  // null: saves are not staged
  void set(std::shared_ptr<SaveStage> stage);

 private:
  std::mutex mutex_;
  std::shared_ptr<SaveStage> stage_;
};

// Who may finish the saves of a run: the later runs of its trial.
std::string owner_of_saves(const engine::RunInfo &run);

// Where saves of this trial are staged from now on, for its later runs on this machine; empty:
// nowhere.
void note_stage(engine::RunBackend &master, const std::filesystem::path &directory);

// Finishes those of earlier runs of this trial, on the chief, staged ones too, and gives the one of
// the most steps. What cannot be finished is told in the log.
std::optional<engine::CheckpointEntry> finish_sealed_saves(storage::Storage &storage,
                                                           engine::RunBackend &master,
                                                           const std::shared_ptr<Logger> &logger);

}  // namespace det::context
