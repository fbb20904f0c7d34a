// The processes of the trials: starting them, and what follows when they leave.
#include <algorithm>

#include "core/base/error.h"
#include "core/launcher/supervisor.h"
#include "core/launcher/trial_environment.h"
#include "core/metrics/left_behind.h"

namespace det {

namespace {

// As its process ended it, which said nothing itself.
RunExit end_of_process(const LaunchedExit &exit, bool killed) {
  if (killed) return RunExit::killed;
  if (exit.kind != LaunchedExit::Kind::exited) return RunExit::died;
  return exit.status == 0 ? RunExit::ok : RunExit::error;
}

}  // namespace

void Supervisor::launch_waiting() {
  while (!waiting_.empty() && experiment_.state == state::active) {
    const auto slots = static_cast<int>(slots_per_trial_);
    const auto used = static_cast<int64_t>(running_.size()) * slots_per_trial_;
    if (!launcher_.has_room(slots) || (max_slots_ > 0 && used + slots > max_slots_)) return;
    const auto next = *waiting_.begin();
    waiting_.erase(next);
    const int64_t id = next.second;
    const auto found = trials_.find(id);
    if (found == trials_.end()) continue;
    Trial &trial = found->second;
    trial.queued = false;
    // It may have been paused while it waited.
    if (trial.state != state::active || trial.done || trial.run_id != 0) continue;
    try {
      launch(id, trial);
      waits_for_others_ = false;
    } catch (const Error &error) {
      if (error.code != Code::busy) throw;
      trial.queued = true;
      waiting_.insert(next);
      if (!waits_for_others_) options_.log->warning(std::string(error.what()) + "; waiting");
      waits_for_others_ = true;
      return;
    }
  }
}

// Throws Code::busy, with nothing done, where others have the GPUs it needs.
// The process waits until its run is on record, so that there is none that nobody knows of.
void Supervisor::launch(int64_t id, Trial &trial) {
  const RunInfo run = lead_.next_run(id);
  lead_.start_run(run, launcher_.prepare(describe(run)));
  trial.run_id = run.run_id;
  trial.killed = false;
  trial.kill_at = Clock::time_point::max();
  running_.insert(id);
  follow_log(id, trial);
  try {
    launcher_.go(id);
  } catch (const Error &error) {
    tell_of_run(id, run.run_id, LogLevel::error, "starting " + name_of(id) + ": " + error.what());
    conclude_run(id, trial, {.failed = true, .unstartable = true}, RunExit::error);
  }
}

TrialLaunch Supervisor::describe(const RunInfo &run) const {
  TrialLaunch launch;
  launch.trial_id = run.trial_id;
  launch.run_id = run.run_id;
  launch.slots = static_cast<int>(slots_per_trial_);
  launch.command = experiment_.launch.command;
  launch.environment = configured_variables(run.config, launcher_.has_gpus());
  for (const auto &[name, value] : trial_environment(run, options_.store_directory))
    launch.environment[name] = value;
  launch.directory = experiment_.launch.directory;
  launch.log_file = log_file(run.trial_id, run.run_id);
  return launch;
}

std::filesystem::path Supervisor::log_file(int64_t trial_id, int64_t run_id) const {
  return lead_.seat().directory() / "logs" /
         (std::to_string(trial_id) + "." + std::to_string(run_id) + ".log");
}

void Supervisor::take_over_run(const LedRun &run) {
  Trial &trial = trials_.at(run.trial_id);
  trial.run_id = run.run_id;
  running_.insert(run.trial_id);
  follow_log(run.trial_id, trial);
  TrialLaunch launch;
  launch.trial_id = run.trial_id;
  launch.run_id = run.run_id;
  launch.slots = static_cast<int>(slots_per_trial_);
  launcher_.adopt(launch, run.leader);
}

void Supervisor::run_gone(const LaunchedExit &exit) {
  const auto found = trials_.find(exit.trial_id);
  if (found == trials_.end() || found->second.run_id != exit.run_id) return;
  Trial &trial = found->second;
  const bool is_known = exit.kind != LaunchedExit::Kind::unknown;
  std::optional<std::string> recorded = lead_.run_exit(exit.trial_id, exit.run_id);
  if (!recorded) {
    // Its reports, which it could not deliver, and what it completed last.
    if (is_known) lead_.end_run(exit.trial_id, exit.run_id, end_of_process(exit, trial.killed));
    recover_runs(options_.store_directory, *options_.log);
    recorded = lead_.run_exit(exit.trial_id, exit.run_id);
  }
  look_at(exit.trial_id, trial);
  const bool said_nothing = !recorded || *recorded == run_exit_name(RunExit::died);
  const bool said_error = recorded == run_exit_name(RunExit::error);
  const bool left_well =
      is_known ? exit.kind == LaunchedExit::Kind::exited && exit.status == 0 : !said_nothing;
  if (trial.log) trial.log->finish();
  if (!left_well && !trial.killed && is_known)
    tell_of_run(exit.trial_id, exit.run_id, LogLevel::warning,
                name_of(exit.trial_id) +
                    (exit.kind == LaunchedExit::Kind::exited ? " left with exit code "
                                                             : " was ended by signal ") +
                    std::to_string(exit.status) + "; `det logs " + std::to_string(exit.trial_id) +
                    "` shows what it printed");
  conclude_run(exit.trial_id, trial,
               {.killed = trial.killed,
                .failed = !left_well || said_error,
                .lost = exit.lost && said_nothing,
                .unstartable = shell_found_nothing(exit)},
               left_well ? RunExit::ok : RunExit::died);
}

// Before it could take up its run: what an entrypoint names is not there, or is no program.
bool Supervisor::shell_found_nothing(const LaunchedExit &exit) {
  const std::vector<std::string> &command = experiment_.launch.command;
  if (exit.kind != LaunchedExit::Kind::exited || (exit.status != 126 && exit.status != 127) ||
      command.size() != 3 || command[0] != "/bin/sh" || command[1] != "-c")
    return false;
  return !lead_.was_taken_up(exit.trial_id, exit.run_id);
}

// To whoever looks on, and in the log of the trial for those who look later.
void Supervisor::tell_of_run(int64_t id, int64_t run_id, LogLevel level, const std::string &text) {
  options_.log->write(level, text);
  lead_.log(id, run_id, level, "det run: " + text);
}

void Supervisor::conclude_run(int64_t id, Trial &trial, RunFacts facts, RunExit how) {
  const int64_t run_id = trial.run_id;
  if (trial.log) trial.log->finish();
  trial.log.reset();
  facts.max_restarts = max_restarts_;
  const RunStanding standing = lead_.run_standing(id, run_id);
  facts.state = standing.trial_state;
  facts.restarts = standing.restarts;
  facts.closed = standing.closed;
  facts.invalid_hp = standing.invalid_hp;
  facts.acknowledged = standing.acknowledged;
  facts.done = standing.done;
  facts.is_final = standing.restarts_forbidden;
  const Verdict verdict = judge(facts);
  const JudgedRun judged{run_id, how, verdict.counts};
  running_.erase(id);
  left_.push_back(id);
  trial.run_id = 0;
  if (!verdict.state.empty()) return conclude(id, verdict, judged);
  lead_.judge_run(id, judged);
  touched_.push_back(id);
  if (!facts.unstartable || experiment_.state != state::active) return;
  options_.log->error("pausing " + name_of(0) + ", since its trials cannot be started");
  lead_.change_state(state::paused);
  read_control();
}

void Supervisor::follow_log(int64_t id, Trial &trial) {
  const int64_t run_id = trial.run_id;
  trial.log = std::make_unique<LogFollower>(
      log_file(id, run_id), lead_.log_offset(id, run_id),
      [this, id, run_id](const std::vector<std::string> &lines, uint64_t read) {
        store_lines(id, run_id, lines, read);
      });
}

void Supervisor::store_lines(int64_t id, int64_t run_id, const std::vector<std::string> &lines,
                             uint64_t read) {
  std::optional<std::string> policy;
  for (const std::string &line : lines)
    if (!policy) policy = log_policies_.forbids_restarts(line);
  if (lead_.log_output(id, run_id, lines, read, policy))
    options_.log->warning(name_of(id) + " printed what the log policy '" + *policy +
                          "' looks for: it is not started again when it fails");
}

}  // namespace det
