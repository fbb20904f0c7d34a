// Trials that train in virtual time. To the store and the supervisor they are what real ones are:
// they complete operations, acknowledge, fail and leave; only their processes are not there.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/wake.h"
#include "core/engine/database.h"
#include "core/engine/runs/lifecycle.h"
#include "core/launcher/launcher.h"

namespace det::test {

// What a trial does when it has trained to a length.
struct Behaviour {
  std::function<double(int64_t trial_id, uint64_t length)> metric;
  // The exit code with which a run leaves before it completes anything; 0: it does not.
  std::function<int(int64_t trial_id, int64_t run_id)> crash = [](int64_t, int64_t) { return 0; };
  // How long one unit of length takes.
  std::function<double(int64_t trial_id)> pace = [](int64_t) { return 1.0; };
};

class SimulatedTrials : public launcher::Launcher {
 public:
  SimulatedTrials(engine::Database &store, int slots, Behaviour behaviour)
      : store_(store), slots_(slots), behaviour_(std::move(behaviour)) {}

  bool has_room(int slots) const override {
    return static_cast<int>(runs_.size()) + slots <= slots_;
  }
  int total_slots() const override { return slots_; }
  std::string prepare(const launcher::TrialLaunch &launch) override {
    if (runs_.contains(launch.trial_id))
      throw Error(Code::state, "simulating: this trial runs already");
    if (others_have_slots_) throw Error(Code::busy, "simulating: others have the slots");
    runs_[launch.trial_id] = {launch.run_id, launch, false};
    most_at_once_ = std::max(most_at_once_, runs_.size());
    return identity_of(launch);
  }
  void go(int64_t trial_id) override {
    ++starts_;
    runs_.at(trial_id).has_begun = true;
    train(trial_id);
  }
  void adopt(const launcher::TrialLaunch &launch, const std::string &identity) override {
    if (runs_.contains(launch.trial_id) && identity == identity_of(launch)) return;
    exits_.push_back({.trial_id = launch.trial_id,
                      .run_id = launch.run_id,
                      .kind = launcher::LaunchedExit::Kind::unknown,
                      .lost = true});
  }
  void kill(int64_t trial_id) override {
    leave(trial_id, launcher::LaunchedExit::Kind::signaled, 9);
  }
  int exit_fd() const override { return news_.fd(); }
  std::vector<launcher::LaunchedExit> take_exits() override { return std::exchange(exits_, {}); }

  size_t running() const { return runs_.size(); }
  size_t most_at_once() const { return most_at_once_; }
  int64_t starts() const { return starts_; }
  double now() const { return now_; }
  const launcher::TrialLaunch &launch(int64_t trial_id) const { return runs_.at(trial_id).launch; }

  // Whatever comes next in virtual time. False: nothing is under way.
  bool advance() {
    while (!agenda_.empty()) {
      const Due due = agenda_.top();
      agenda_.pop();
      const auto run = runs_.find(due.trial_id);
      if (run == runs_.end() || run->second.run_id != due.run_id) continue;
      now_ = due.time;
      act(due.trial_id, run->second);
      return true;
    }
    return false;
  }

  // The supervisor has had its say on what was completed: each goes on or leaves.
  void hear() {
    for (const int64_t id : std::exchange(undecided_, {}))
      if (runs_.contains(id)) go_on(id);
  }

  // As another supervisor that takes GPUs.
  void let_others_in(bool in) { others_have_slots_ = in; }

  // Without a word.
  void leave_now(int64_t trial_id, int exit_code) {
    leave(trial_id, launcher::LaunchedExit::Kind::exited, exit_code);
  }

  // Their supervisor is gone: those that it prepared and had not let go end with it.
  void lose_prepared() {
    std::erase_if(runs_, [](const auto &run) { return !run.second.has_begun; });
  }

  // All processes die at once, as in a power cut.
  void lose_all() { runs_.clear(); }

 private:
  struct Run {
    int64_t run_id = 0;
    launcher::TrialLaunch launch;
    bool has_begun = false;
  };
  struct Due {
    double time;
    int64_t trial_id, run_id;
    bool operator<(const Due &other) const {
      return std::tie(time, trial_id) > std::tie(other.time, other.trial_id);
    }
  };

  // No process: what such a launcher is to have back is on record, whatever it is.
  static std::string identity_of(const launcher::TrialLaunch &launch) {
    return to_wire({{"simulated", launch.trial_id}, {"run", launch.run_id}});
  }

  void train(int64_t id) {
    engine::Query operation = store_.query(
        "SELECT length, (SELECT MAX(length) FROM operations WHERE trial_id=?1"
        " AND completed IS NOT NULL) FROM operations"
        " WHERE trial_id=?1 AND completed IS NULL ORDER BY number DESC LIMIT 1",
        id);
    if (!operation.next()) return leave_for_lack_of_work(id);
    const auto left = static_cast<double>(operation.integer(0)) -
                      (operation.is_null(1) ? 0 : static_cast<double>(operation.integer(1)));
    agenda_.push({now_ + std::max(left, 0.0) * behaviour_.pace(id), id, runs_.at(id).run_id});
  }

  void act(int64_t id, Run &run) {
    if (const int code = behaviour_.crash(id, run.run_id))
      return leave(id, launcher::LaunchedExit::Kind::exited, code);
    if (store_.query("SELECT 1 FROM signals WHERE trial_id=? AND run_id=?", id, run.run_id)
            .next()) {
      store_.run("UPDATE signals SET acknowledged=? WHERE trial_id=? AND run_id=?", now_us(), id,
                 run.run_id);
      return leave(id, launcher::LaunchedExit::Kind::exited, 0);
    }
    uint64_t length = 0;
    {
      engine::Query operation = store_.query(
          "SELECT length FROM operations WHERE trial_id=? ORDER BY number DESC LIMIT 1", id);
      operation.next();
      length = static_cast<uint64_t>(operation.integer(0));
    }
    const std::string metric = to_wire(Json(behaviour_.metric(id, length)));
    engine::Transaction transaction(store_);
    store_.run("UPDATE operations SET completed=?, metric=? WHERE trial_id=? AND completed IS NULL",
               now_us(), metric, id);
    transaction.commit();
    undecided_.push_back(id);
  }

  void go_on(int64_t id) {
    engine::Query undecided = store_.query(
        "SELECT 1 FROM operations WHERE trial_id=? AND completed IS NOT NULL AND decided IS NULL",
        id);
    if (undecided.next()) return undecided_.push_back(id);
    train(id);
  }

  // In good order, which it says itself.
  void leave_for_lack_of_work(int64_t id) {
    const int64_t run_id = runs_.at(id).run_id;
    engine::Transaction transaction(store_, engine::Durability::relaxed);
    store_.run("UPDATE runs SET out_of_operations=1 WHERE trial_id=? AND run_id=?", id, run_id);
    engine::record_run_end(store_, id, run_id, engine::RunExit::ok);
    transaction.commit();
    leave(id, launcher::LaunchedExit::Kind::exited, 0);
  }

  void leave(int64_t id, launcher::LaunchedExit::Kind kind, int status) {
    const auto run = runs_.find(id);
    if (run == runs_.end()) return;
    exits_.push_back({id, run->second.run_id, kind, status});
    runs_.erase(run);
  }

  engine::Database &store_;
  const int slots_;
  const Behaviour behaviour_;
  std::map<int64_t, Run> runs_;
  std::priority_queue<Due> agenda_;
  std::vector<int64_t> undecided_;
  std::vector<launcher::LaunchedExit> exits_;
  Wake news_;
  double now_ = 0;
  bool others_have_slots_ = false;
  size_t most_at_once_ = 0;
  int64_t starts_ = 0;
};

}  // namespace det::test
