#include "core/engine/records/control.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/process/pidfd.h"
#include "core/engine/change.h"
#include "core/engine/experiment.h"
#include "core/engine/records/resume.h"
#include "core/engine/runs/ranks.h"
#include "core/engine/store.h"
#include "core/engine/supervision/transitions.h"

namespace det::engine {

namespace {

namespace fs = std::filesystem;

// A killed process that is in a system call takes its time.
constexpr std::chrono::seconds death{5};

// Kills a process of this machine and waits until it is gone, for a few seconds at most. Nothing
// where it is gone already.
void kill_process(const ProcessIdentity &process) {
  const std::string who = "process " + std::to_string(process.pid);
  if (liveness(process) != Liveness::alive) return;
  const Fd handle = open_process(static_cast<pid_t>(process.pid));
  // Its number cannot pass on to another process any more.
  if (!handle || liveness(process) != Liveness::alive) return;
  if (!send_kill(handle)) OsFailure{errno}.raise("killing " + who);
  ends_within(handle, death);
}

// The state of an experiment or trial of any kind; empty where there is none.
std::string state_of(Database &store, Target target, int64_t id) {
  Query row = store.query(target == Target::trial ? "SELECT state FROM trials WHERE id=?"
                                                  : "SELECT state FROM experiments WHERE id=?",
                          id);
  return row.next() ? row.text(0) : std::string();
}

// The experiment with a supervisor that `id` is, or is a trial of.
std::optional<int64_t> supervised_experiment(Database &store, Target target, int64_t id) {
  if (target == Target::trial) return supervised_experiment_of(store, id);
  Query row = store.query("SELECT id FROM experiments WHERE id=? AND managed<>0", id);
  return row.next() ? std::optional(row.integer(0)) : std::nullopt;
}

// Trials that programs started by themselves.

struct Subject {
  int64_t trial_id = 0;
  std::string state;
  std::optional<RunRecord> run;  // the latest
  bool lives = false;
};

[[noreturn]] void refuse(Action action, const Subject &trial, const std::string &reason) {
  throw Error(Code::state,
              action_name(action) + " trial " + std::to_string(trial.trial_id) + ": " + reason);
}

// What the action makes of the state; nothing when there is nothing to do.
std::optional<std::string_view> next_state(Action action, const Subject &trial) {
  const bool over = is_terminal(trial.state);
  const bool canceling = trial.state == state::canceling;
  switch (action) {
    case Action::pause:
      if (over || canceling)
        refuse(action, trial, "it is " + trial.state + ", so there is nothing to pause");
      return state::paused;
    case Action::activate:
      if (over) refuse(action, trial, "it is " + trial.state + "; start its program again instead");
      if (canceling) refuse(action, trial, "it is being canceled; start it again when it has left");
      return state::active;
    case Action::cancel:
      if (over) return std::nullopt;
      return trial.lives ? state::canceling : state::canceled;
    case Action::kill:
      if (over) return std::nullopt;
      return state::canceled;
  }
  return std::nullopt;
}

// The chief and what runs with it on this machine; whoever launched them ends the rest.
void kill_run(Database &store, const Subject &trial) {
  const ProcessIdentity &chief = trial.run->process;
  if (!chief.is_local())
    refuse(Action::kill, trial,
           "it runs as process " + std::to_string(chief.pid) + " on host " + chief.host +
               " (or in another container); kill it there");
  for (const RankRecord &rank : ranks_of(store, trial.trial_id, trial.run->run_id))
    if (!rank.exit && rank.place.process.is_local()) kill_process(rank.place.process);
}

std::vector<Subject> subjects(Database &store, const fs::path &store_directory, Target target,
                              int64_t id) {
  std::vector<Subject> found;
  Query rows = store.query(target == Target::trial
                               ? "SELECT id, state FROM trials WHERE id=?"
                               : "SELECT id, state FROM trials WHERE experiment_id=? ORDER BY id",
                           id);
  while (rows.next()) found.push_back({rows.integer(0), rows.text(1), std::nullopt, false});
  for (Subject &trial : found) {
    trial.run = latest_run(store, trial.trial_id);
    trial.lives = trial.run && run_lives(store_directory, *trial.run);
  }
  return found;
}

// Whether the trial's run is signalled.
bool steer(Change &change, const Subject &trial, Action action, bool killed) {
  // A run that died without a word first becomes what it is.
  if (trial.run && !trial.run->exit && !trial.lives)
    record_run_end(change.records(), trial.trial_id, trial.run->run_id,
                   killed ? RunExit::killed : RunExit::died);
  const auto next = next_state(action, trial);
  if (!next) return false;
  set_trial_state(change.records(), trial.trial_id, *next);
  if (!trial.lives || (action != Action::pause && action != Action::cancel)) return false;
  change.signal(trial.trial_id, trial.run->run_id, action == Action::pause ? "pause" : "cancel");
  return true;
}

// What a supervisor runs.

std::string_view wanted_state(Action action) {
  switch (action) {
    case Action::pause:
      return state::paused;
    case Action::activate:
      return state::active;
    case Action::cancel:
      return state::canceling;
    case Action::kill:
      return state::killing;
  }
  throw Error(Code::invalid, "controlling a trial: no such action");
}

// What has ended, or is ending anyway, cannot be ended any more, and that is no error.
bool is_over_for(Action action, std::string_view before) {
  if (action == Action::kill) return is_terminal(before) || before == state::killing;
  return action == Action::cancel && (is_terminal(before) || is_stopping(before));
}

// A run that a supervisor started, and whose end none has judged.
struct SupervisedRun {
  RunRecord record;
  ProcessIdentity leader;  // without a number where only its launcher knows what it is
};

// What no process stands for may go on until its supervisor says that it does not.
bool may_live(const std::filesystem::path &store_directory, const SupervisedRun &run) {
  return run.leader.pid <= 0 || run_lives(store_directory, run.record);
}

std::vector<SupervisedRun> live_runs(Store &store, Target target, int64_t id) {
  Database &records = store.database();
  std::vector<SupervisedRun> found;
  {
    Query rows = records.query(std::string("SELECT trials.id, leader FROM trials"
                                           " JOIN runs ON trial_id=trials.id"
                                           " AND run_id=last_run AND leader IS NOT NULL WHERE ") +
                                   (target == Target::trial ? "trials.id=?" : "experiment_id=?"),
                               id);
    while (rows.next()) {
      SupervisedRun &run = found.emplace_back();
      run.record.trial_id = rows.integer(0);
      run.leader =
          ProcessIdentity::from_json(parse_json_object(rows.view(1), "the process of a run"));
    }
  }
  for (SupervisedRun &run : found) run.record = *latest_run(records, run.record.trial_id);
  std::erase_if(found, [&](const SupervisedRun &run) { return !may_live(store.directory(), run); });
  return found;
}

// Where nobody else will kill them.
void check_can_be_killed(Store &store, Target target, int64_t id, int64_t experiment_id,
                         const std::string &tried) {
  for (const SupervisedRun &run : live_runs(store, target, id))
    if (!run.leader.is_local())
      throw Error(
          Code::state,
          tried + ": run " + std::to_string(run.record.run_id) + " of trial " +
              std::to_string(run.record.trial_id) +
              " may continue, and only its supervisor can end it, which is gone; start that "
              "with `" +
              run_again_command(store.directory(), experiment_id) + "` and try again");
}

// The leader of each run first: it is what keeps the others.
void kill_runs(const std::vector<SupervisedRun> &runs) {
  for (const SupervisedRun &run : runs)
    for (const ProcessIdentity &process : {run.leader, run.record.process})
      if (process.is_local()) kill_process(process);
}

// Nobody else will.
void end_here(Store &store, int64_t experiment_id) {
  Change change(store);
  change.records().run(
      "UPDATE trials SET state='CANCELED', ended=?1 WHERE experiment_id=?2"
      " AND state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')",
      now_us(), experiment_id);
  set_experiment_state(change.records(), experiment_id, state::canceled,
                       "ending experiment " + std::to_string(experiment_id));
  change.commit();
}

}  // namespace

std::string action_name(Action action) {
  switch (action) {
    case Action::pause:
      return "pausing";
    case Action::activate:
      return "activating";
    case Action::cancel:
      return "canceling";
    case Action::kill:
      return "killing";
  }
  throw Error(Code::invalid, "controlling a trial: no such action");
}

Json Control::act(Target target, int64_t id, Action action) {
  const auto guard = store_.lock();
  const auto experiment_id = supervised_experiment(store_.database(), target, id);
  return experiment_id ? act_on_supervised(target, id, *experiment_id, action)
                       : act_on_programs(target, id, action);
}

Json Control::act_on_programs(Target target, int64_t id, Action action) {
  Database &records = store_.database();
  const bool one = target == Target::trial;
  if (state_of(records, target, id).empty())
    throw Error(Code::not_found, action_name(action) + (one ? " trial " : " experiment ") +
                                     std::to_string(id) + ": not found in '" +
                                     records.path().string() + "'; `det " + (one ? "ls" : "ls -e") +
                                     "` shows the ones there are");
  std::set<int64_t> killed;
  if (action == Action::kill) {
    // Before the write lock is taken: the process may hold it.
    for (const Subject &trial : subjects(records, store_.directory(), target, id)) {
      if (!trial.lives) continue;
      kill_run(records, trial);
      killed.insert(trial.trial_id);
    }
  }

  int64_t signalled = 0;
  Change change(store_);
  std::vector<Subject> trials = subjects(records, store_.directory(), target, id);
  if (!one && trials.size() > 1)
    std::erase_if(trials, [](const Subject &trial) { return is_terminal(trial.state); });
  for (const Subject &trial : trials) {
    if (action == Action::kill && trial.lives)
      refuse(action, trial, "its process has not died yet; try again");
    if (steer(change, trial, action, killed.count(trial.trial_id) != 0)) ++signalled;
  }
  change.commit();
  const std::string state = state_of(records, target, id);
  const bool resumable = trials.size() == 1 && !is_terminal(state) && state != state::canceling;
  Json answer{
      {"state", state}, {"signalled", signalled}, {"resume", nullptr}, {"resume_note", nullptr}};
  if (resumable) {
    const int64_t trial_id = trials.front().trial_id;
    answer["resume"] = resume_command(records, store_.directory(), trial_id);
    answer["resume_note"] = resume_note(records, store_.directory(), trial_id);
  }
  return answer;
}

// Records what is asked for; the supervisor carries it out. Without one the experiment is only
// prepared for the next, and what is to end at once is ended here.
Json Control::act_on_supervised(Target target, int64_t id, int64_t experiment_id, Action action) {
  Database &records = store_.database();
  const std::string name =
      (target == Target::trial ? "trial " : "experiment ") + std::to_string(id);
  const std::string tried = action_name(action) + " " + name;
  const std::string_view wanted = wanted_state(action);
  const auto is_led = [&] {
    return supervisor_liveness(store_.directory(), experiment_id) != Liveness::dead;
  };
  const bool was_led = is_led();
  {
    Change change(store_);
    const std::string before = state_of(records, target, id);
    if (action == Action::kill && !was_led && !is_terminal(before))
      check_can_be_killed(store_, target, id, experiment_id, tried);
    if (!is_over_for(action, before)) {
      if (target == Target::experiment) set_experiment_state(records, id, wanted, tried);
      else if (!set_supervised_trial_state(records, id, wanted))
        throw Error(Code::state, tried + ": it is " + before + ", which does not allow that");
      records.run("UPDATE experiments SET control=control+1 WHERE id=?", experiment_id);
    }
    change.tell_supervisor(experiment_id);
    change.tell_listeners(experiment_id);
    change.commit();
  }
  const bool has_supervisor = was_led || is_led();
  const std::vector<SupervisedRun> runs = live_runs(store_, target, id);
  if (!has_supervisor) {
    const std::string now = state_of(records, Target::experiment, experiment_id);
    if (action == Action::kill) kill_runs(runs);
    if (action == Action::pause || action == Action::cancel) {
      Change change(store_);
      for (const SupervisedRun &run : runs)
        change.signal(run.record.trial_id, run.record.run_id,
                      action == Action::pause ? "pause" : "cancel");
      change.commit();
    }
    if (now == state::killing || (now == state::canceling && runs.empty()))
      end_here(store_, experiment_id);
  }
  const std::string now = state_of(records, target, id);
  const bool told = action != Action::activate && !is_terminal(now);
  const bool resumable =
      !has_supervisor && !is_terminal(state_of(records, Target::experiment, experiment_id));
  return {
      {"state", now},
      {"signalled", told ? static_cast<int64_t>(runs.size()) : 0},
      {"resume", resumable ? Json(run_again_command(store_.directory(), experiment_id)) : Json()}};
}

}  // namespace det::engine
