// Saves that go on in the background. What needs all ranks at once is settled in the call, as for
// any save; what the ranks finish afterwards reaches the chief by way of the storage, so that no
// collective ever runs beside those of the caller.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/json.h"
#include "core/base/process/fork_guard.h"
#include "core/context/checkpoint/checkpoint_catalog.h"
#include "core/context/checkpoint/run_parts.h"
#include "core/context/checkpoint/save_stage.h"
#include "core/context/checkpoint/save_ticket.h"

namespace det::context {

// One after the other, in the order in which they were asked for, on a thread that is there while
// there are any.
class SaveQueue {
 public:
  // What it throws is the save's failure. It is gone before the ticket is told that it ended.
  using Work = std::function<void(SaveTicket &)>;

  SaveQueue();
  ~SaveQueue();  // waits for all of them, but not in a forked child
  SaveQueue(const SaveQueue &) = delete;
  SaveQueue &operator=(const SaveQueue &) = delete;

  // Until no more than so many are under way, which together hold back at most so many bytes; false
  // at the end of `limit`.
  struct Room {
    size_t saves = 0;
    uint64_t bytes = UINT64_MAX;
  };
  bool await(const Room &room, std::optional<std::chrono::milliseconds> limit = {});

  void add(std::shared_ptr<SaveTicket> ticket, uint64_t bytes, Work work);

  // Throws the first failure that nobody has heard yet, as something that `tried` cannot pass over.
  void rethrow_failure(const std::string &tried);

  bool has(const std::string &id);
  uint64_t bytes();  // that those under way hold back
  // The one that is being saved, or is next.
  std::shared_ptr<SaveTicket> first();

 private:
  struct Save {
    std::shared_ptr<SaveTicket> ticket;
    uint64_t bytes;
    Work work;
  };
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Save> saves;  // the first one is under way
    std::vector<std::shared_ptr<SaveTicket>> failed;
    bool runs = false;
    std::thread thread;
  };

  static void run(State &state);

  const ForkGuard guard_;
  std::unique_ptr<State> state_;  // left to the parent in a child
};

// What they may hold back.
struct SaveLimits {
  size_t in_flight = 2;
  uint64_t bytes = UINT64_MAX;  // of private copies that are not stored yet
  bool waits = true;            // for room; else Code::busy
};

class BackgroundSaves {
 public:
  BackgroundSaves(const RunParts &run, CheckpointCatalog &catalog, CurrentStage &stage)
      : run_(run), catalog_(catalog), stage_(stage) {}

  void limit(const SaveLimits &limits);
  // From now on saves of one rank are copied below `directory`, and stored from there; what earlier
  // runs of this trial left there goes first. An empty one ends that.
  void stage_in(const std::filesystem::path &directory, uint64_t limit_bytes);
  std::shared_ptr<SaveStage> stage() { return stage_.get(); }

  // Of those who ask for one: one thread after the other, from make_room() to begin().
  std::unique_lock<std::mutex> take_turn() { return std::unique_lock(asking_); }
  void make_room(uint64_t bytes, SaveStage::Bytes where, storage::Progress *progress);
  void make_room_together(const comm::Call &call, const std::function<uint64_t()> &count_bytes,
                          storage::Progress *progress);

  struct Save {  // all that the background has to do
    std::shared_ptr<storage::CheckpointWriter> writer;
    Json metadata = {};
    std::vector<std::string> paths = {};  // that this rank is to finish, with other ranks
    uint64_t bytes = 0;
    std::shared_ptr<SaveStage> stage = nullptr;  // where the writer is
  };
  std::shared_ptr<SaveTicket> begin(Save save);
  // `copy` is this rank's part in the call. Nothing is left where it fails on any rank.
  using Copy = std::function<void(Save &)>;
  std::shared_ptr<SaveTicket> begin_together(const comm::Call &call, Save save, const Copy &copy);
  void publish_staged(storage::CheckpointWriter &staged, SaveStage &stage, const Json &metadata,
                      storage::Progress *progress, SaveTicket *ticket = nullptr);

  // So that a save which blocks does not overtake them.
  void settle(storage::Progress *progress);
  void settle_together(const comm::Call &call, storage::Progress *progress);
  // Throws what nobody has heard yet.
  void rethrow_failure(const std::string &tried) { saves_.rethrow_failure(tried); }
  bool is_saving(const std::string &id) { return saves_.has(id); }

  // All ranks in step where the save is of all ranks: then the chief's limit counts. False at its
  // end; throws what the save failed with.
  bool wait(SaveTicket &ticket, std::optional<std::chrono::milliseconds> limit);
  // In step likewise. Throws Code::state where it was saved before it could be cancelled.
  void cancel(SaveTicket &ticket);
  // Waits for those of this rank; throws what nobody has heard of yet. Also once closed.
  void finish(std::optional<std::chrono::milliseconds> limit);

 private:
  SaveLimits limits();
  void work(SaveTicket &ticket, const Save &save);
  void hand_in(SaveTicket &ticket, const Save &save, storage::Progress *progress);
  std::string await_share(const SaveTicket &ticket, const Save &save, int rank);

  const RunParts &run_;
  CheckpointCatalog &catalog_;
  CurrentStage &stage_;
  std::mutex asking_;
  std::mutex limits_mutex_;
  SaveLimits limits_;
  std::atomic<bool> together_{false};  // ever, of all ranks; the same on all of them
  SaveQueue saves_;                    // last: its thread uses what stands above
};

}  // namespace det::context
