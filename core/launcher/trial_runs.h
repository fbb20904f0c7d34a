// The runs of trials that go on: starts them, follows what they print, asks them to leave and ends
// those that do not.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/engine/supervision/supervised_experiment.h"
#include "core/launcher/entrypoint.h"
#include "core/launcher/launcher.h"
#include "core/launcher/log_follower.h"
#include "core/launcher/log_policies.h"
#include "core/launcher/run_policy.h"
#include "core/launcher/verdict.h"

namespace det::launcher {

// What came of starting one. `no_room`: nothing was done, since others have what it needs.
// `failed`: its command could not be started.
enum class Launched { yes, no_room, failed };

// What the runs of an experiment print, on its way from their files into the records.
class RunLogs {
 public:
  // Throws Code::invalid for a log policy of `config` that is none. `records` must outlive this.
  RunLogs(engine::SupervisedExperiment &records, const Json &config, std::shared_ptr<Logger> log);
  RunLogs(const RunLogs &) = delete;  // those that follow hold on to this
  RunLogs &operator=(const RunLogs &) = delete;

  std::filesystem::path file(int64_t trial_id, int64_t run_id) const;

  // From where its lines are on record already. This must outlive it.
  std::unique_ptr<LogFollower> follow(int64_t trial_id, int64_t run_id, uint64_t offset);

  // Of a run: to whoever looks on, and in the log of its trial for those who look later.
  void tell(int64_t trial_id, int64_t run_id, LogLevel level, const std::string &text);

  // Once it has ended: the line in which it said, shortly before, that there is no space left. A
  // program that only lost a side file to that goes on, and dies of something else.
  std::string take_complaint_about_space(int64_t trial_id, int64_t run_id);

 private:
  void record(int64_t trial_id, int64_t run_id, const std::vector<std::string> &lines,
              uint64_t read);

  engine::SupervisedExperiment &records_;
  const LogPolicies policies_;
  const std::shared_ptr<Logger> log_;
  struct Complaint {
    std::string line;
    int64_t lines_since = 0;
  };
  std::map<std::pair<int64_t, int64_t>, Complaint> complaints_about_space_;
};

// A trial has one run at a time, and is what its run is known by. `records` and `launcher` must
// outlive this.
class TrialRuns {
 public:
  using Clock = std::chrono::steady_clock;

  TrialRuns(engine::SupervisedExperiment &records, Launcher &launcher,
            const engine::ExperimentRecord &experiment, std::filesystem::path store_directory,
            std::shared_ptr<Logger> log);

  // The next run of a trial.
  Launched start(int64_t trial_id);
  // Of another supervisor, which is gone.
  void take_over(const engine::UnjudgedRun &run);

  bool has(int64_t trial_id) const { return runs_.contains(trial_id); }
  size_t size() const { return runs_.size(); }
  std::vector<int64_t> trials() const;

  // Puts on record what it has printed.
  void follow_log(int64_t trial_id) { runs_.at(trial_id).log->follow(); }

  void carry_out(int64_t trial_id, const RunOrder &order, Clock::time_point now);
  // It is ended at that time, if it has not left by then.
  void leave_by(int64_t trial_id, Clock::time_point time);
  Clock::time_point next_deadline() const;
  void kill_overdue(Clock::time_point now);
  void kill_all();

  // Puts on record how a run left that did not say so itself, and what it could not deliver. False
  // where it is none of these.
  bool record_end(const LaunchedExit &exit);
  // What its exit says, told to people; after record_end().
  RunFacts end_of(const LaunchedExit &exit);
  // Of a trial whose run has left. Gives which run that was.
  int64_t remove(int64_t trial_id);
  // The trials whose runs have left since this was asked last.
  std::vector<int64_t> take_left() { return std::exchange(left_, {}); }

 private:
  struct Run {
    int64_t id = 0;
    std::unique_ptr<LogFollower> log;
    bool killed = false;
    std::optional<std::string> said = {};  // how it left
    Clock::time_point kill_at = Clock::time_point::max();
  };

  TrialLaunch describe(const engine::RunInfo &run);
  std::optional<std::string> prepare(const engine::RunInfo &run);
  std::string missing_space(const LaunchedExit &exit, const std::string &complaint) const;
  void add(int64_t trial_id, int64_t run_id, uint64_t log_offset);
  void kill(int64_t trial_id, Run &run);

  engine::SupervisedRuns &records_;
  Launcher &launcher_;
  const TrialLaunch plan_;  // what all launches of the experiment have
  const RunPolicy policy_;
  const std::filesystem::path store_directory_;
  const std::filesystem::path storage_directory_;  // empty: checkpoints go elsewhere
  const std::shared_ptr<Logger> log_;
  RunLogs logs_;
  std::map<int64_t, Run> runs_;
  std::vector<int64_t> left_;
  bool waits_for_others_ = false;
  StandIn stand_in_;
};

}  // namespace det::launcher
