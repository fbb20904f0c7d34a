// A checkpoint being written by the program, between begin and commit or abort.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/context/checkpoint/background_saves.h"
#include "core/context/checkpoint/checkpoint_catalog.h"
#include "core/context/checkpoint/run_parts.h"
#include "core/tensors/header.h"
#include "core/tensors/tensor.h"

namespace det::context {

// With several ranks, commit and abort are one collective: where a rank aborts, the others' commits
// fail.
class OpenCheckpoint {
 public:
  OpenCheckpoint(const RunParts &run, CheckpointCatalog &catalog, BackgroundSaves &background,
                 Json metadata, bool sharded, std::unique_ptr<storage::CheckpointWriter> writer,
                 std::shared_ptr<SaveStage> stage = nullptr);
  ~OpenCheckpoint();
  OpenCheckpoint(const OpenCheckpoint &) = delete;
  OpenCheckpoint &operator=(const OpenCheckpoint &) = delete;

  const std::string &id() const { return id_; }
  const std::string &path() const { return path_; }
  // In place of what this rank said before.
  void set_metadata(const std::string &metadata_json);
  // Into the file `name`, or those of all ranks with an index beside them.
  void write_tensors(const std::string &name, const std::vector<tensors::Tensor> &given,
                     const tensors::FileMetadata &metadata, storage::Progress *progress = nullptr);
  void commit(storage::Progress *progress = nullptr);
  // Gives back once the rest can be done in the background.
  std::shared_ptr<SaveTicket> commit_async(storage::Progress *progress = nullptr);
  void abort();

 private:
  enum class State { open, committed, aborted, failed };

  void check_open(const char *tried) const;
  void begin_commit();
  void commit_sharded(storage::Progress *progress);
  void write_shards(const std::string &name, const std::vector<tensors::Tensor> &given,
                    tensors::FileMetadata metadata, storage::Progress *progress);
  // What is the same whether the rest is done now or in the background.
  struct Prepared {
    Json metadata = {};
    std::string shares = {};          // what each rank finishes
    std::exception_ptr failure = {};  // of this machine, for all the others to know
  };
  Prepared prepare_sharded(const comm::Call &call);
  std::vector<std::string> own_share(const Prepared &prepared) const;
  std::shared_ptr<SaveTicket> commit_sharded_async(storage::Progress *progress);
  void tell_aborted();
  uint64_t bytes() const;
  void drop();

  const RunParts &run_;
  CheckpointCatalog &catalog_;
  BackgroundSaves &background_;
  Json metadata_;  // of this rank, checked where it is all there is; null: none yet
  const bool sharded_;
  const bool is_shared_;  // all machines write into one path()
  const std::string id_, path_;
  std::mutex mutex_;
  std::unique_ptr<storage::CheckpointWriter> writer_;
  std::vector<std::string> known_;          // files of this rank that the writer knows already
  const std::shared_ptr<SaveStage> stage_;  // where it waits to be stored; null: in its storage
  State state_ = State::open;
};

}  // namespace det::context
