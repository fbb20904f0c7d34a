// Where a trial's TensorBoard files live, and how they get into storage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/log/log.h"
#include "core/storage/storage.h"

namespace det::tensorboard {

// Same numbers as DET_TENSORBOARD_MODE_* in include/det/train.h.
enum class TensorboardMode : int { automatic = 0, manual = 1 };

// Where the TensorBoard files of an experiment are, relative to its storage.
std::filesystem::path tensorboard_path(const std::string &cluster_id, int64_t experiment_id);

// Removes them from `storage`; not through a link that somebody has put there.
void remove_tensorboard_files(storage::Storage &storage, const std::string &cluster_id,
                              int64_t experiment_id);

// Where TensorBoard finds them: directories, and addresses of buckets; `storages` are
// configurations, or texts for storage::make_storage_from_uri(). Leaves out those that do not make
// a storage here.
std::vector<std::string> locations(const std::vector<Json> &storages, const std::string &cluster_id,
                                   int64_t experiment_id, const std::shared_ptr<Logger> &logger);

struct TensorboardPlace {
  std::filesystem::path
      storage;  // Storage::directory(); empty when it has no file system: `bucket`
  std::string cluster_id;
  int64_t experiment_id = 0;
  int64_t trial_id = 0;
  std::string allocation_id;
  int rank = 0;
  std::shared_ptr<storage::Storage> bucket{};
  int64_t run_id = 0;
};

// Gives a file, by its path relative to the TensorBoard directory, its name in storage.
using Mangler = std::function<std::string(const std::string &path, int rank)>;

// The chief's files in automatic mode are written straight to where they are kept, if that is a
// file system. All others are local to a rank, and reach storage by upload(), or in automatic mode
// by sync(). Nothing is made on disk before it is asked for.
class TensorboardFiles {
 public:
  TensorboardFiles(TensorboardMode mode, TensorboardPlace place);

  // The directory this rank writes to, made if absent.
  std::filesystem::path path() const;
  // The same, open: whatever has that name afterwards, this is where to write.
  Fd open() const;

  // Whether events of this rank get into storage, by themselves or by upload().
  bool keeps() const { return mode_ == TensorboardMode::manual || place_.rank == 0; }

  // Of which run they are: its files lie beside those of others.
  int64_t run_id() const { return place_.run_id; }

  // Copies files changed since the last upload into storage. `selector` sees absolute paths; a file
  // it leaves is asked about again once it has changed. Code::state for the chief's in automatic
  // mode.
  void upload(const storage::Selector &selector, const Mangler &mangler);

  // Whether the automatic mode needs sync(), which brings what has changed into the bucket.
  bool wants_sync() const;
  void sync(storage::Progress *progress = nullptr);

 private:
  // A file is taken for unchanged while this stays the same.
  struct Version {
    uint64_t inode;
    uint64_t size;
    int64_t modified_ns;
    bool operator==(const Version &) const = default;
  };

  bool is_remote() const;
  Fd open_remote() const;
  void upload_changed(const storage::Selector &selector, const Mangler &mangler,
                      storage::Progress *progress);
  void upload_file(const std::filesystem::path &file, Fd &remote, const storage::Selector &selector,
                   const Mangler &mangler, storage::Progress *progress);
  std::filesystem::path remote_path() const;  // relative to the storage

  const TensorboardMode mode_;
  const TensorboardPlace place_;
  const std::filesystem::path local_;
  std::mutex mutex_;
  std::map<std::string, Version> uploaded_;
};

// Puts "#rank" into the names of profiler traces, which would otherwise be the same on every rank;
// other names stay. A mangler.
std::string rank_aware_name(const std::string &path, int rank);

}  // namespace det::tensorboard
