// Saving and restoring.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/comm/communicator.h"
#include "core/context/gate.h"
#include "core/context/removals.h"
#include "core/context/save_queue.h"
#include "core/context/save_stage.h"
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
  // Gives back once the rest can be done in the background.
  std::shared_ptr<SaveTicket> commit_async();
  void abort();

 private:
  friend class CheckpointContext;
  enum class State { open, committed, aborted, failed };

  CheckpointStore(CheckpointContext &context, Json metadata, bool sharded,
                  std::unique_ptr<storage::CheckpointWriter> writer,
                  std::shared_ptr<SaveStage> stage = nullptr);
  void check_open(const char *tried) const;
  void begin_commit();
  void commit_sharded();
  void write_shards(const std::string &name, const std::vector<tensors::Tensor> &given,
                    tensors::FileMetadata metadata);
  // What is the same whether the rest is done now or in the background.
  struct Prepared {
    Json metadata = {};
    std::string shares = {};          // what each rank finishes
    std::exception_ptr failure = {};  // of this machine, for all the others to know
  };
  Prepared prepare_sharded(const comm::Call &call);
  std::vector<std::string> own_share(const Prepared &prepared) const;
  std::shared_ptr<SaveTicket> commit_sharded_async();
  void tell_aborted();
  uint64_t bytes() const;
  void drop();

  CheckpointContext &context_;
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

// What asynchronous saves may hold back.
struct SaveLimits {
  size_t in_flight = 2;
  uint64_t bytes = UINT64_MAX;  // of private copies that are not stored yet
  bool waits = true;            // for room; else Code::busy
};

class CheckpointContext {
 public:
  CheckpointContext(const Gate &gate, comm::Communicator &communicator, master::Master &master,
                    storage::Storage &storage, TrainContext &train, Logger &logger);

  // The id of the new checkpoint. `sharded`: all ranks in step; `directory` may then be empty.
  // The metadata is text, so that an error in it on one rank reaches the others.
  std::string upload(const std::filesystem::path &directory, const std::string &metadata_json,
                     bool sharded, const storage::Selector &selector);
  // The same, but gives back once the directory may be changed; what then fails is told by the
  // ticket, and by the next save or finish_saves(), whichever comes first, unless it was heard.
  std::shared_ptr<SaveTicket> upload_async(const std::filesystem::path &directory,
                                           const std::string &metadata_json, bool sharded,
                                           const storage::Selector &selector);
  void limit_saves(const SaveLimits &limits);
  // From now on saves of one rank are copied below `directory`, and stored from there; what earlier
  // runs of this trial left there goes first. An empty one ends that.
  void stage_saves(const std::filesystem::path &directory, uint64_t limit_bytes);
  // All ranks in step where the save is of all ranks: then the chief's limit counts. False at its
  // end; throws what the save failed with.
  bool wait(SaveTicket &ticket, std::optional<std::chrono::milliseconds> limit);
  // In step likewise. Throws Code::state where it was saved before it could be cancelled.
  void cancel(SaveTicket &ticket);
  // Of this rank, in the background; throws what nobody has heard of yet. Also once closed.
  void finish_saves(std::optional<std::chrono::milliseconds> limit);

  // The program's state in memory: `buffers`, in step on all ranks of a job. Gives the id.
  std::string save_state(int64_t steps, const std::vector<tensors::Tensor> &buffers);
  // Fills `buffers` from what save_state() has stored. Gives its steps; without an id, those of the
  // checkpoint that this run begins with, or 0 where there is none, which fills nothing.
  int64_t load_state(const std::optional<std::string> &id,
                     const std::vector<tensors::Tensor> &buffers);

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

  // At the end of the run; `decides`, once more, when the master has all its reports. False: one is
  // still under way.
  bool finish_removals(bool decides, std::chrono::milliseconds limit);

  // Settles what killed processes left: a checkpoint they made but never announced is removed, and
  // so is one that they were removing.
  void recover();

 private:
  friend class CheckpointStore;

  std::string upload_sharded(const std::filesystem::path &directory,
                             const std::string &metadata_json, const storage::Selector &selector);
  std::unique_ptr<CheckpointStore> begin_sharded(const std::string &metadata_json);
  struct Plan {  // of this rank in an upload of all ranks
    Json metadata;
    std::vector<std::string> paths = {};
    bool stores = false, is_first = false;  // which stores the metadata
  };
  Plan plan_sharded(const comm::Call &call, const std::filesystem::path &directory,
                    const std::string &metadata_json, const storage::Selector &selector);
  std::shared_ptr<SaveTicket> upload_sharded_async(const std::filesystem::path &directory,
                                                   const std::string &metadata_json,
                                                   const storage::Selector &selector);
  std::string begin_writing(const comm::Call &call,
                            std::unique_ptr<storage::CheckpointWriter> &writer);
  void publish(storage::CheckpointWriter &writer, const Json &metadata,
               const std::vector<std::string> &shares, SaveTicket *ticket = nullptr);

  struct Save {  // all that the background has to do
    std::shared_ptr<storage::CheckpointWriter> writer;
    Json metadata = {};
    std::vector<std::string> paths = {};  // that this rank is to finish, with other ranks
    uint64_t bytes = 0;
    std::shared_ptr<SaveStage> stage = nullptr;  // where the writer is
  };
  std::shared_ptr<SaveStage> stage();
  std::unique_ptr<storage::CheckpointWriter> copy_staged(
      SaveStage &stage, const std::filesystem::path &directory,
      const std::optional<std::vector<std::string>> &paths);
  void publish_staged(storage::CheckpointWriter &staged, SaveStage &stage, const Json &metadata,
                      SaveTicket *ticket = nullptr);
  template <class Read>
  auto read_nearest(const std::string &id, const Read &read);
  void download_nearest(const std::string &id, const std::filesystem::path &directory,
                        const storage::Selector &selector, bool checksums);
  std::unique_ptr<storage::CheckpointReader> restore_for_machine(const std::string &id,
                                                                 const storage::Selector &selector,
                                                                 bool checksums);
  std::unique_ptr<storage::CheckpointReader> restore_nearest(const std::string &id,
                                                             const storage::Selector &selector,
                                                             bool checksums);
  void make_room(uint64_t bytes, SaveStage::Bytes where);
  void make_room_together(const comm::Call &call, const std::function<uint64_t()> &bytes);
  SaveLimits limits();
  void settle_earlier_saves();
  void settle_earlier_saves_together(const comm::Call &call);
  std::shared_ptr<SaveTicket> begin_save(Save save);
  using Copy = std::function<void(Save &)>;
  std::shared_ptr<SaveTicket> begin_save_together(const comm::Call &call, Save save,
                                                  const Copy &copy);
  void work(SaveTicket &ticket, const Save &save);
  void hand_in(SaveTicket &ticket, const Save &save);
  std::string await_share(const SaveTicket &ticket, const Save &save, int rank);
  void publish_later(storage::CheckpointWriter &writer, const engine::CheckpointReport &report,
                     const Error &reason);
  bool keep(const engine::CheckpointReport &report);
  void settle_waiting(const std::string &id);
  void check_rank(const char *call) const;

  // What is not kept beside the newest: `held`, besides, what is being read.
  void remove_superseded(std::set<std::string> held) noexcept;
  void remove_one_superseded(const engine::WithdrawnCheckpoint &one);
  std::set<std::string> begun_from() const;
  std::shared_ptr<void> hold(const std::string &id);
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
  std::mutex asking_;  // for an asynchronous save: one thread after the other
  std::mutex limits_mutex_;
  SaveLimits limits_;
  std::shared_ptr<SaveStage> stage_;
  std::atomic<bool> saves_together_{false};  // ever; the same on all ranks
  std::atomic<bool> has_saved_{false};
  struct Held {
    std::mutex mutex;
    std::multiset<std::string> ids;
  };
  const std::shared_ptr<Held> held_ = std::make_shared<Held>();  // being read
  std::mutex unremovable_mutex_;
  std::set<std::string> unremovable_;  // told once
  Removals removals_;                  // its thread uses what stands above
  SaveQueue saves_;                    // last: its thread uses what stands above
};

}  // namespace det::context
