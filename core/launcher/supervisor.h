// Runs an experiment: tells its search what happens to the trials, carries out what it decides, and
// starts, watches and ends their runs. All it knows is in the store, so that one that was killed is
// followed by another that goes on where it was; runs that go on are taken over.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/log/log.h"
#include "core/engine/supervision/supervised_experiment.h"
#include "core/launcher/launch_queue.h"
#include "core/launcher/launcher.h"
#include "core/launcher/open_trials.h"
#include "core/launcher/run_policy.h"
#include "core/launcher/trial_runs.h"
#include "core/launcher/verdict.h"

namespace det::launcher {

// What TensorBoard's plugin "hparams" is told of the trials of a search that have ended. A run that
// fails cannot tell it itself: whether its trial goes on in another one is decided when it has
// left.
class SessionEnds {
 public:
  // `storage`: as the configuration of the experiment has it. Where it does not say where, the
  // trials keep their files in `home`.
  SessionEnds(Json storage, std::filesystem::path home, std::string cluster_id,
              int64_t experiment_id, std::shared_ptr<Logger> log)
      : storage_(std::move(storage)),
        home_(std::move(home)),
        cluster_id_(std::move(cluster_id)),
        experiment_id_(experiment_id),
        log_(std::move(log)) {}

  // Beside what the runs of the trial have written; nothing where they have not, and in a bucket,
  // which may be slow to answer. Never throws for a full disk and the like: it is logged.
  void write(int64_t trial_id, bool succeeded);

 private:
  std::filesystem::path find_directory() const;  // empty for a bucket

  const Json storage_;
  const std::filesystem::path home_;
  const std::string cluster_id_;
  const int64_t experiment_id_;
  const std::shared_ptr<Logger> log_;
  std::optional<std::filesystem::path> directory_;  // where the trials' storage is
};

// Used by one thread. Throws what the store throws; then it is of no use any more, and what is on
// record is what counts.
class Supervisor {
 public:
  using Clock = TrialRuns::Clock;

  struct Options {
    std::filesystem::path store_directory;
    int64_t experiment_id = 0;
    std::shared_ptr<Logger> log;
    std::function<Clock::time_point()> now = Clock::now;
    engine::StoreOptions store;
  };

  // Throws Code::busy when the experiment has a supervisor.
  Supervisor(Options options, Launcher &launcher);

  // Does all there is to do now.
  void step();

  // Until there may be something to do, or `fd` is readable, or for `limit`.
  void wait(int fd, std::chrono::milliseconds limit);

  // As if a person had asked for it. Throws Code::state where it may not become that.
  void change_state(std::string_view to);
  // Ends all runs; their trials go on later, from their latest checkpoints.
  void kill_processes() { runs_.kill_all(); }

  const engine::ExperimentRecord &experiment() const { return experiment_; }
  bool ended() const;
  // Nothing runs, and nothing will before somebody activates it.
  bool at_rest() const;
  double progress() const;
  std::vector<int64_t> running() const { return runs_.trials(); }
  size_t waiting() const { return queue_.size(); }
  // The trials whose runs have left since this was asked last.
  std::vector<int64_t> take_left() { return runs_.take_left(); }

 private:
  void take_over();
  void hear_people();
  void hear_runs();
  void hear(int64_t trial_id, const engine::TrialNews &news);
  void hear_exit(const LaunchedExit &exit);
  void follow_up(const engine::Decided &decided);
  void settle();
  void look_at(int64_t trial_id);
  void start_waiting();
  void conclude_run(int64_t trial_id, const RunFacts &run);
  void conclude(int64_t trial_id, const Verdict &verdict,
                const std::optional<engine::JudgedRun> &run);
  void finish();
  void note_progress();

  const Options options_;
  Launcher &launcher_;
  engine::SupervisedExperiment records_;
  engine::ExperimentRecord experiment_;
  const RunPolicy policy_;
  OpenTrials trials_;
  LaunchQueue queue_;
  TrialRuns runs_;
  SessionEnds session_ends_;
  int64_t control_ = -1;  // how often people did something, as far as it was heard
  double noted_progress_ = -1;
  Clock::time_point next_note_{};
};

}  // namespace det::launcher
