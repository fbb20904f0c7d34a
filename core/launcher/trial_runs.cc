#include "core/launcher/trial_runs.h"

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/engine/runs/recover_runs.h"
#include "core/launcher/exit_facts.h"
#include "core/launcher/launcher.h"
#include "core/launcher/trial_launch.h"
#include "core/storage/storage.h"

namespace det::launcher {

namespace {

// The words of the system, which nearly all programs print.
bool complains_about_space(const std::string &line) {
  return line.find(errno_text(ENOSPC)) != line.npos || line.find(errno_text(EDQUOT)) != line.npos;
}

// What programs print while they die: the traces of several ranks.
constexpr int64_t last_lines = 200;

}  // namespace

RunLogs::RunLogs(engine::SupervisedExperiment &records, const Json &config,
                 std::shared_ptr<Logger> log)
    : records_(records), policies_(config), log_(std::move(log)) {}

std::filesystem::path RunLogs::file(int64_t trial_id, int64_t run_id) const {
  return records_.seat().log_file(trial_id, run_id);
}

std::unique_ptr<LogFollower> RunLogs::follow(int64_t trial_id, int64_t run_id, uint64_t offset) {
  return std::make_unique<LogFollower>(
      file(trial_id, run_id), offset,
      [this, trial_id, run_id](const std::vector<std::string> &lines, uint64_t read) {
        record(trial_id, run_id, lines, read);
      });
}

void RunLogs::tell(int64_t trial_id, int64_t run_id, LogLevel level, const std::string &text) {
  log_->write(level, text);
  records_.output().add(trial_id, run_id, level, "det run: " + text);
}

std::string RunLogs::take_complaint_about_space(int64_t trial_id, int64_t run_id) {
  const auto taken = complaints_about_space_.extract({trial_id, run_id});
  return taken && taken.mapped().lines_since <= last_lines ? taken.mapped().line : std::string();
}

void RunLogs::record(int64_t trial_id, int64_t run_id, const std::vector<std::string> &lines,
                     uint64_t read) {
  std::optional<std::string> policy;
  auto complaint = complaints_about_space_.find({trial_id, run_id});
  for (const std::string &line : lines)
    if (complains_about_space(line))
      complaint =
          complaints_about_space_.insert_or_assign({trial_id, run_id}, Complaint{line}).first;
    else if (complaint != complaints_about_space_.end()) ++complaint->second.lines_since;
  for (const std::string &line : lines)
    if (!policy) policy = policies_.forbids_restarts(line);
  if (records_.output().add_lines(trial_id, run_id, lines, read, policy))
    log_->warning(trial_name(trial_id) + " printed what the log policy '" + *policy +
                  "' looks for: it is not started again when it fails");
}

namespace {

std::filesystem::path storage_directory(const Json &config) try {
  const Json storage = config.value("checkpoint_storage", Json());
  return storage.is_object() ? storage::make_storage(storage, std::nullopt, nullptr)->directory()
                             : std::filesystem::path();
} catch (const Error &) {
  return {};  // the trial says what is wrong with it
}

}  // namespace

TrialRuns::TrialRuns(engine::SupervisedExperiment &records, Launcher &launcher,
                     const engine::ExperimentRecord &experiment,
                     std::filesystem::path store_directory, std::shared_ptr<Logger> log)
    : records_(records.runs()),
      launcher_(launcher),
      plan_(trial_launch(experiment.config, experiment.launch, launcher.has_gpus())),
      policy_(run_policy(experiment.config)),
      store_directory_(std::move(store_directory)),
      storage_directory_(storage_directory(experiment.config)),
      log_(std::move(log)),
      logs_(records, experiment.config, log_) {}

Launched TrialRuns::start(int64_t trial_id) {
  const engine::RunInfo run = records_.next(trial_id);
  const std::optional<std::string> identity = prepare(run);
  if (!identity) return Launched::no_room;
  // It waits until it is on record, so that there is none that nobody knows of.
  records_.start(run, *identity);
  add(trial_id, run.run_id, 0);
  try {
    launcher_.go(trial_id);
  } catch (const Error &error) {
    logs_.tell(trial_id, run.run_id, LogLevel::error,
               "starting " + trial_name(trial_id) + ": " + error.what());
    runs_.at(trial_id).log->finish();
    return Launched::failed;
  }
  return Launched::yes;
}

// Nothing where others have what it needs.
std::optional<std::string> TrialRuns::prepare(const engine::RunInfo &run) {
  try {
    std::string identity = launcher_.prepare(describe(run));
    waits_for_others_ = false;
    return identity;
  } catch (const Error &error) {
    if (error.code != Code::busy) throw;
    if (!std::exchange(waits_for_others_, true))
      log_->warning(std::string(error.what()) + "; waiting");
    return std::nullopt;
  }
}

TrialLaunch TrialRuns::describe(const engine::RunInfo &run) {
  TrialLaunch launch = plan_;
  launch.trial_id = run.trial_id;
  launch.run_id = run.run_id;
  for (const auto &[name, value] : trial_environment(run, store_directory_))
    launch.environment[name] = value;
  stand_in_.add_to(launch);
  launch.log_file = logs_.file(run.trial_id, run.run_id);
  return launch;
}

void TrialRuns::take_over(const engine::UnjudgedRun &run) {
  add(run.trial_id, run.run_id, run.log_offset);
  TrialLaunch launch;
  launch.trial_id = run.trial_id;
  launch.run_id = run.run_id;
  launch.slots = static_cast<int>(policy_.slots_per_trial);
  launcher_.adopt(launch, run.leader);
}

void TrialRuns::add(int64_t trial_id, int64_t run_id, uint64_t log_offset) {
  runs_[trial_id] = {run_id, logs_.follow(trial_id, run_id, log_offset)};
}

std::vector<int64_t> TrialRuns::trials() const {
  std::vector<int64_t> trials;
  for (const auto &[trial_id, run] : runs_) trials.push_back(trial_id);
  return trials;
}

void TrialRuns::carry_out(int64_t trial_id, const RunOrder &order, Clock::time_point now) {
  const auto found = runs_.find(trial_id);
  if (found == runs_.end()) return;
  switch (order.kind) {
    case RunOrder::Kind::go_on:
      return;
    case RunOrder::Kind::leave:
      records_.ask_to_leave(trial_id, found->second.id, order.reason);
      return leave_by(trial_id, now + policy_.preemption_timeout);
    case RunOrder::Kind::end:
      return kill(trial_id, found->second);
  }
}

void TrialRuns::leave_by(int64_t trial_id, Clock::time_point time) {
  Run &run = runs_.at(trial_id);
  if (!run.killed) run.kill_at = std::min(run.kill_at, time);
}

TrialRuns::Clock::time_point TrialRuns::next_deadline() const {
  Clock::time_point next = Clock::time_point::max();
  for (const auto &[trial_id, run] : runs_) next = std::min(next, run.kill_at);
  return next;
}

void TrialRuns::kill_overdue(Clock::time_point now) {
  for (auto &[trial_id, run] : runs_) {
    if (now < run.kill_at) continue;
    log_->warning("ending " + trial_name(trial_id) +
                  ": it did not leave in time after it was asked to");
    kill(trial_id, run);
  }
}

void TrialRuns::kill_all() {
  for (auto &[trial_id, run] : runs_) kill(trial_id, run);
}

void TrialRuns::kill(int64_t trial_id, Run &run) {
  run.killed = true;
  run.kill_at = Clock::time_point::max();
  launcher_.kill(trial_id);
}

bool TrialRuns::record_end(const LaunchedExit &exit) {
  const auto found = runs_.find(exit.trial_id);
  if (found == runs_.end() || found->second.id != exit.run_id) return false;
  Run &run = found->second;
  run.said = records_.exit_of(exit.trial_id, exit.run_id);
  if (run.said) return true;
  if (const auto how = exit_for_record(exit, run.killed))
    records_.end(exit.trial_id, exit.run_id, *how);
  engine::recover_runs(store_directory_, *log_);
  run.said = records_.exit_of(exit.trial_id, exit.run_id);
  return true;
}

RunFacts TrialRuns::end_of(const LaunchedExit &exit) {
  const Run &run = runs_.at(exit.trial_id);
  run.log->finish();
  if (const auto complaint = complaint_about(exit, run.killed, run.said))
    logs_.tell(exit.trial_id, exit.run_id, LogLevel::warning, *complaint);
  RunFacts facts = facts_of(exit, run.killed, run.said);
  const std::string complaint = logs_.take_complaint_about_space(exit.trial_id, exit.run_id);
  if (facts.failed && !facts.killed) facts.no_space = missing_space(exit, complaint);
  // Before it could take up its run.
  facts.unstartable =
      may_be_unstartable(exit, plan_.command) && !records_.was_taken_up(exit.trial_id, exit.run_id);
  return facts;
}

// By what it printed; else, where its output found no room either, by what can be written now.
std::string TrialRuns::missing_space(const LaunchedExit &exit, const std::string &complaint) const {
  if (!complaint.empty())
    return trial_name(exit.trial_id) + " printed '" + complaint.substr(0, 300) + "'";
  for (const std::filesystem::path &place : {storage_directory_, store_directory_, plan_.directory})
    if (!place.empty() && is_full(place)) return "'" + place.string() + "'";
  return {};
}

int64_t TrialRuns::remove(int64_t trial_id) {
  const auto found = runs_.find(trial_id);
  const int64_t run_id = found->second.id;
  runs_.erase(found);
  left_.push_back(trial_id);
  return run_id;
}

}  // namespace det::launcher
