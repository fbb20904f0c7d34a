// The processes of the trials: starting them, and what follows when they leave.
#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/engine/lifecycle.h"
#include "core/engine/start.h"
#include "core/launcher/supervisor.h"
#include "core/launcher/trial_environment.h"
#include "core/metrics/left_behind.h"

namespace det {

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
  const RunInfo run = describe_next_run(store_, id);
  const ProcessIdentity leader = launcher_.prepare(describe(run));
  {
    Transaction transaction(store_, Durability::relaxed);
    record_next_run(store_, run, leader);
    transaction.commit();
  }
  trial.run_id = run.run_id;
  trial.killed = trial.lost = false;
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
  return seat_.directory() / "logs" /
         (std::to_string(trial_id) + "." + std::to_string(run_id) + ".log");
}

void Supervisor::take_over_run(int64_t id, Trial &trial, const std::string &leader) {
  follow_log(id, trial);
  const auto process =
      ProcessIdentity::from_json(parse_json_object(leader, "the process of a run"));
  // Where it is gone, what it said counts; where it said nothing, nobody knows whose fault it was.
  trial.lost = liveness(process) == Liveness::dead;
  TrialLaunch launch;
  launch.trial_id = id;
  launch.run_id = trial.run_id;
  launch.slots = static_cast<int>(slots_per_trial_);
  launcher_.adopt(launch, process);
}

void Supervisor::run_gone(const LaunchedExit &exit) {
  const auto found = trials_.find(exit.trial_id);
  if (found == trials_.end() || found->second.run_id != exit.run_id) return;
  Trial &trial = found->second;
  const bool is_known = exit.kind != LaunchedExit::Kind::unknown;
  const auto read_end = [&] {
    Query run = store_.query("SELECT exit FROM runs WHERE trial_id=? AND run_id=?", exit.trial_id,
                             exit.run_id);
    return run.next() ? run.maybe_text(0) : std::nullopt;
  };
  std::optional<std::string> recorded = read_end();
  if (!recorded) {
    // Its reports, which it could not deliver, and what it completed last.
    if (is_known) record_end(exit, trial);
    recover_runs(options_.store_directory, *options_.log);
    recorded = read_end();
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
                .lost = trial.lost && said_nothing,
                .unstartable = shell_found_nothing(exit)},
               left_well ? RunExit::ok : RunExit::died);
}

// Before it could take up its run: what an entrypoint names is not there, or is no program.
bool Supervisor::shell_found_nothing(const LaunchedExit &exit) {
  const std::vector<std::string> &command = experiment_.launch.command;
  if (exit.kind != LaunchedExit::Kind::exited || (exit.status != 126 && exit.status != 127) ||
      command.size() != 3 || command[0] != "/bin/sh" || command[1] != "-c")
    return false;
  return store_
      .query("SELECT 1 FROM runs WHERE trial_id=? AND run_id=? AND journal_id=''", exit.trial_id,
             exit.run_id)
      .next();
}

// To whoever looks on, and in the log of the trial for those who look later.
void Supervisor::tell_of_run(int64_t id, int64_t run_id, LogLevel level, const std::string &text) {
  options_.log->write(level, text);
  Transaction transaction(store_, Durability::relaxed);
  store_line(id, run_id, level, "det run: " + text);
  transaction.commit();
}

void Supervisor::store_line(int64_t id, int64_t run_id, LogLevel level, const std::string &text) {
  store_.run(
      "INSERT INTO logs (trial_id, run_id, rank, time, level, text) VALUES (?, ?, 0, ?, ?, ?)", id,
      run_id, now_us(), static_cast<int64_t>(level), text);
}

// As its process ended it, which said nothing itself.
void Supervisor::record_end(const LaunchedExit &exit, const Trial &trial) {
  const bool exited = exit.kind == LaunchedExit::Kind::exited;
  Transaction transaction(store_, Durability::relaxed);
  record_run_end(store_, exit.trial_id, exit.run_id,
                 trial.killed                 ? RunExit::killed
                 : exited && exit.status == 0 ? RunExit::ok
                 : exited                     ? RunExit::error
                                              : RunExit::died);
  transaction.commit();
}

void Supervisor::conclude_run(int64_t id, Trial &trial, RunFacts facts, RunExit how) {
  const int64_t run_id = trial.run_id;
  if (trial.log) trial.log->finish();
  trial.log.reset();
  facts.max_restarts = max_restarts_;
  {
    Query row = store_.query(
        "SELECT trials.state, restarts, closed, early_exit IS NOT NULL OR "
        "IFNULL(exit='invalid_hp', 0),"
        " out_of_operations OR EXISTS (SELECT 1 FROM signals WHERE trial_id=trials.id"
        "  AND signals.run_id=runs.run_id AND acknowledged IS NOT NULL),"
        " IFNULL((SELECT decided IS NOT NULL FROM operations WHERE trial_id=trials.id"
        "  ORDER BY number DESC LIMIT 1), 1),"
        " restarts_forbidden_by IS NOT NULL"
        " FROM trials JOIN runs ON trial_id=trials.id AND run_id=? WHERE trials.id=?",
        run_id, id);
    row.next();
    facts.state = row.text(0);
    facts.restarts = row.integer(1);
    facts.closed = row.integer(2) != 0;
    facts.invalid_hp = row.integer(3) != 0;
    facts.acknowledged = row.integer(4) != 0;
    facts.done = row.integer(5) != 0;
    facts.is_final = row.integer(6) != 0;
  }
  const Verdict verdict = judge(facts);
  const auto record = [&] {
    record_run_end(store_, id, run_id, how);
    store_.run("UPDATE runs SET leader=NULL WHERE trial_id=? AND run_id=?", id, run_id);
    if (verdict.counts) store_.run("UPDATE trials SET restarts=restarts+1 WHERE id=?", id);
  };
  running_.erase(id);
  left_.push_back(id);
  trial.run_id = 0;
  if (!verdict.state.empty()) return conclude(id, verdict, record);
  Transaction transaction(store_, Durability::relaxed);
  record();
  transaction.commit();
  touched_.push_back(id);
  if (!facts.unstartable || experiment_.state != state::active) return;
  options_.log->error("pausing " + name_of(0) + ", since its trials cannot be started");
  set_state(state::paused);
  read_control();
}

// What a run prints is stored with how far it was read, so that no line is lost or stored twice.
void Supervisor::follow_log(int64_t id, Trial &trial) {
  const int64_t run_id = trial.run_id;
  uint64_t offset = 0;
  {
    Query run =
        store_.query("SELECT log_offset FROM runs WHERE trial_id=? AND run_id=?", id, run_id);
    if (run.next()) offset = static_cast<uint64_t>(run.integer(0));
  }
  trial.log = std::make_unique<LogFollower>(
      log_file(id, run_id), offset,
      [this, id, run_id](const std::vector<std::string> &lines, uint64_t read) {
        store_lines(id, run_id, lines, read);
      });
}

void Supervisor::store_lines(int64_t id, int64_t run_id, const std::vector<std::string> &lines,
                             uint64_t read) {
  std::optional<std::string> policy;
  Transaction transaction(store_, Durability::relaxed);
  for (const std::string &line : lines) {
    store_line(id, run_id, LogLevel::info, line);
    if (!policy) policy = log_policies_.forbids_restarts(line);
  }
  if (policy) forbid_restarts(id, *policy);
  store_.run("UPDATE runs SET log_offset=? WHERE trial_id=? AND run_id=?", read, id, run_id);
  transaction.commit();
}

void Supervisor::forbid_restarts(int64_t id, const std::string &policy) {
  store_.run(
      "UPDATE trials SET restarts_forbidden_by=? WHERE id=? AND restarts_forbidden_by IS NULL",
      policy, id);
  if (store_.changes() > 0)
    options_.log->warning(name_of(id) + " printed what the log policy '" + policy +
                          "' looks for: it is not started again when it fails");
}

}  // namespace det
