// What there is to show of an experiment that `det run` runs.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "core/engine/records/experiments.h"
#include "core/engine/records/trials.h"
#include "core/launcher/supervisor.h"
#include "library_client.h"
#include "run_text.h"

namespace det::cli {

class RunView {
 public:
  RunView(launcher::Supervisor &supervisor, engine::Experiments &experiments,
          engine::Trials &trials);

  RunState now();

 private:
  using Clock = std::chrono::steady_clock;

  int64_t paused_trial();
  RunningTrial running(int64_t trial_id);
  LeftTrial left(int64_t trial_id);
  std::optional<double> metric_of(const engine::TrialSummary &trial) const;
  void count_trials();
  std::string hparams_of(int64_t trial_id);

  launcher::Supervisor &supervisor_;
  engine::Experiments &experiments_;
  engine::Trials &trials_;
  const std::string metric_name_;
  const Clock::time_point start_ = Clock::now();
  const double first_progress_;
  TrialCounts counts_;
  const int64_t planned_;
  const std::set<std::string> varied_;  // hyperparameters, by their dotted names
  std::map<int64_t, std::string> hparams_of_running_ = {};
  std::optional<BestTrial> best_;
  Clock::time_point next_count_{};
};

// Of one that `det run` does not run any more; `resume` is the command that goes on with it.
RunSummary summary_of(Client &client, const RunState &state, const std::string &resume);

}  // namespace det::cli
