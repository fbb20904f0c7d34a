// Which checkpoints stay: those that the newest ones supersede are deleted while training goes on,
// but not while somebody reads them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/process/fork_guard.h"
#include "core/context/checkpoint/run_parts.h"
#include "core/context/checkpoint/save_stage.h"
#include "core/engine/runs/run_info.h"

namespace det::context {

// Removals that nobody waits for: one after the other, on a thread that is there while there are
// any.
class Removals {
 public:
  using Remove = std::function<void(const engine::WithdrawnCheckpoint &one)>;

  // What these throw is told to nobody; `done` follows when none is left.
  Removals(Remove remove, std::function<void()> done);
  ~Removals();  // waits for the one that is under way, but not in a forked child
  Removals(const Removals &) = delete;
  Removals &operator=(const Removals &) = delete;

  // Throws Code::full where there is no thread to be had: then none of them is pending.
  void add(const std::vector<engine::WithdrawnCheckpoint> &withdrawn);
  std::set<std::string> pending();
  // Until one, or all of them, are no longer pending; false at the end of `limit`.
  void await(const std::string &id);
  bool await_all(std::chrono::milliseconds limit);

 private:
  struct State {
    Remove remove;
    std::function<void()> done;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<engine::WithdrawnCheckpoint> waiting;  // the first one is under way
    bool runs = false, stops = false;
    std::thread thread;
  };

  static void run(State &state);

  const ForkGuard guard_;
  std::unique_ptr<State> state_;  // left to the parent in a child
};

class Retention {
 public:
  Retention(const RunParts &run, CurrentStage &stage);

  // As long as what it gives is there, the checkpoint is not superseded.
  std::shared_ptr<void> hold(const std::string &id);

  // One more is saved, and reported; `in_order`: after the validations before it, which may make
  // another one the best.
  void note_saved(bool in_order);
  // Of what is deleted already, because it was superseded.
  void await(const std::string &id) { removals_.await(id); }
  // At the end of the run; `decides`, once more, when the master has all its reports. False: one is
  // still under way.
  bool finish(bool decides, std::chrono::milliseconds limit);

  // The files of one that the master has withdrawn. Where they stay it is reinstated.
  void remove_withdrawn(const std::string &id, bool was_complete);

 private:
  // What is not kept beside the newest: `held`, besides, what is being read.
  void remove_superseded(std::set<std::string> held) noexcept;
  void remove_one_superseded(const engine::WithdrawnCheckpoint &one);
  std::set<std::string> begun_from() const;

  const RunParts &run_;
  CurrentStage &stage_;
  std::atomic<bool> has_saved_{false};
  struct Held {
    std::mutex mutex;
    std::multiset<std::string> ids;
  };
  const std::shared_ptr<Held> held_ = std::make_shared<Held>();  // being read
  std::mutex unremovable_mutex_;
  std::set<std::string> unremovable_;  // told once
  Removals removals_;                  // last: its thread uses what stands above
};

}  // namespace det::context
