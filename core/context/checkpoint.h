// Saving and restoring.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/comm/communicator.h"
#include "core/context/gate.h"
#include "core/master/master.h"
#include "core/storage/storage.h"

namespace det {

class TrainContext;

// Same numbers as DET_DOWNLOAD_* in include/det/checkpoint.h.
enum class DownloadMode : int { local_workers_share = 0, no_shared = 1 };

struct DownloadRequest {
  DownloadMode mode = DownloadMode::local_workers_share;
  Selector selector;
  bool checksums = true;
};

class CheckpointContext;

// A checkpoint being written by the user, between begin and commit or abort.
class CheckpointStore {
 public:
  ~CheckpointStore();
  const std::string &id() const { return id_; }
  const std::string &path() const { return path_; }
  void commit();
  void abort();

 private:
  friend class CheckpointContext;
  enum class State { open, committed, aborted, failed };

  CheckpointStore(CheckpointContext &context, Json metadata,
                  std::unique_ptr<CheckpointWriter> writer);

  CheckpointContext &context_;
  const Json metadata_;
  const std::string id_, path_;
  std::mutex mutex_;
  std::unique_ptr<CheckpointWriter> writer_;
  State state_ = State::open;
};

class CheckpointContext {
 public:
  CheckpointContext(const Gate &gate, Communicator &communicator, Master &master, Storage &storage,
                    TrainContext &train, Logger &logger);

  // The id of the new checkpoint. `sharded`: all ranks in step; `directory` may then be empty.
  std::string upload(const std::filesystem::path &directory, const Json &metadata, bool sharded,
                     const Selector &selector);
  std::unique_ptr<CheckpointStore> begin_store(const Json &metadata, bool sharded);

  void download(const std::string &id, const std::filesystem::path &directory,
                const DownloadRequest &request);
  std::unique_ptr<CheckpointReader> begin_restore(const std::string &id,
                                                  const DownloadRequest &request);
  void remove(const std::string &id);
  Json metadata(const std::string &id);

  // Settles what killed processes left: a checkpoint they made but never announced is removed.
  void recover();

 private:
  friend class CheckpointStore;
  void publish(CheckpointWriter &writer, const Json &metadata);
  void check_rank(const char *call, bool sharded) const;

  const Gate &gate_;
  Communicator &communicator_;
  Master &master_;
  Storage &storage_;
  TrainContext &train_;
  Logger &logger_;
};

}  // namespace det
