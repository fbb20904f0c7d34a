// Saving and restoring.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/comm/communicator.h"
#include "core/context/gate.h"
#include "core/master/master.h"
#include "core/storage/storage.h"
#include "core/tensors/header.h"
#include "core/tensors/tensor.h"

namespace det::context {

class TrainContext;

// Same numbers as DET_DOWNLOAD_MODE_* in include/det/checkpoint.h.
enum class DownloadMode : int { local_workers_share = 0, no_shared = 1 };

struct DownloadRequest {
  DownloadMode mode = DownloadMode::local_workers_share;
  storage::Selector selector = {};
  bool checksums = true;
};

class CheckpointContext;

// A checkpoint being written by the user, between begin and commit or abort. With several ranks,
// commit and abort are one collective: where a rank aborts, the others' commits fail.
class CheckpointStore {
 public:
  ~CheckpointStore();
  const std::string &id() const { return id_; }
  const std::string &path() const { return path_; }
  // In place of what this rank said before.
  void set_metadata(const std::string &metadata_json);
  // Into the file `name`, or those of all ranks with an index beside them.
  void write_tensors(const std::string &name, const std::vector<tensors::Tensor> &given,
                     const tensors::FileMetadata &metadata);
  void commit();
  void abort();

 private:
  friend class CheckpointContext;
  enum class State { open, committed, aborted, failed };

  CheckpointStore(CheckpointContext &context, Json metadata, bool sharded,
                  std::unique_ptr<storage::CheckpointWriter> writer);
  void check_open(const char *tried) const;
  void commit_sharded();
  void write_shards(const std::string &name, const std::vector<tensors::Tensor> &given,
                    tensors::FileMetadata metadata);
  void tell_aborted();

  CheckpointContext &context_;
  Json metadata_;  // of this rank, checked where it is all there is; null: none yet
  const bool sharded_;
  const bool is_shared_;  // all machines write into one path()
  const std::string id_, path_;
  std::mutex mutex_;
  std::unique_ptr<storage::CheckpointWriter> writer_;
  std::vector<std::string> known_;  // files of this rank that the writer knows already
  State state_ = State::open;
};

class CheckpointContext {
 public:
  CheckpointContext(const Gate &gate, comm::Communicator &communicator, master::Master &master,
                    storage::Storage &storage, TrainContext &train, Logger &logger);

  // The id of the new checkpoint. `sharded`: all ranks in step; `directory` may then be empty.
  // The metadata is text, so that an error in it on one rank reaches the others.
  std::string upload(const std::filesystem::path &directory, const std::string &metadata_json,
                     bool sharded, const storage::Selector &selector);
  // Without metadata it comes before the commit.
  std::unique_ptr<CheckpointStore> begin_store(const std::optional<std::string> &metadata_json,
                                               bool sharded);

  void download(const std::string &id, const std::filesystem::path &directory,
                const DownloadRequest &request);
  std::unique_ptr<storage::CheckpointReader> begin_restore(const std::string &id,
                                                           const DownloadRequest &request);
  void remove(const std::string &id);
  Json metadata(const std::string &id);
  std::vector<engine::CheckpointEntry> list();  // of this trial, as Master::checkpoints()

  // Settles what killed processes left: a checkpoint they made but never announced is removed, and
  // so is one that they were removing.
  void recover();

 private:
  friend class CheckpointStore;

  std::string upload_sharded(const std::filesystem::path &directory,
                             const std::string &metadata_json, const storage::Selector &selector);
  std::unique_ptr<CheckpointStore> begin_sharded(const std::string &metadata_json);
  std::string begin_writing(const comm::Call &call,
                            std::unique_ptr<storage::CheckpointWriter> &writer);
  void publish(storage::CheckpointWriter &writer, const Json &metadata,
               const std::vector<std::string> &shares);
  void publish_later(storage::CheckpointWriter &writer, const engine::CheckpointReport &report,
                     const Error &reason);
  bool keep(const engine::CheckpointReport &report);
  void settle_waiting(const std::string &id);
  void check_rank(const char *call) const;

  void remove_withdrawn(const std::string &id, bool was_complete);
  void finish_removal(const std::string &id);
  storage::HadManifest had_manifest(const std::string &id);
  bool anybody_selects(const comm::Call &call, const std::string &id,
                       const DownloadRequest &request);
  storage::Selector choose_together(const comm::Call &call, const std::string &id,
                                    const storage::Selector &selector);

  const Gate &gate_;
  comm::Communicator &communicator_;
  master::Master &master_;
  storage::Storage &storage_;
  TrainContext &train_;
  Logger &logger_;
  std::mutex waiting_mutex_;
  std::map<std::string, engine::CheckpointReport> waiting_;  // for the master, in the journal
};

}  // namespace det::context
