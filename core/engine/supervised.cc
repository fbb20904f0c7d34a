#include "core/engine/supervised.h"

#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/engine/change.h"
#include "core/engine/experiment.h"
#include "core/engine/kill_process.h"
#include "core/engine/resume.h"
#include "core/engine/transitions.h"

namespace det::engine {

namespace {

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
      throw Error(Code::state,
                  tried + ": run " + std::to_string(run.record.run_id) + " of trial " +
                      std::to_string(run.record.trial_id) +
                      " may go on, and only its supervisor can end it, which is gone; start that "
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

std::string state_of(Database &store, Target target, int64_t id) {
  Query row = store.query(target == Target::trial ? "SELECT state FROM trials WHERE id=?"
                                                  : "SELECT state FROM experiments WHERE id=?",
                          id);
  return row.next() ? row.text(0) : std::string();
}

std::optional<int64_t> supervised_experiment(Database &store, Target target, int64_t id) {
  Query row = store.query(target == Target::trial
                              ? "SELECT experiments.id FROM trials JOIN experiments"
                                " ON experiments.id=experiment_id WHERE trials.id=? AND managed<>0"
                              : "SELECT id FROM experiments WHERE id=? AND managed<>0",
                          id);
  return row.next() ? std::optional(row.integer(0)) : std::nullopt;
}

Json control_supervised(Store &store, Target target, int64_t id, Action action) {
  Database &records = store.database();
  const int64_t experiment_id = *supervised_experiment(records, target, id);
  const std::string name =
      (target == Target::trial ? "trial " : "experiment ") + std::to_string(id);
  const std::string tried = action_name(action) + " " + name;
  const std::string_view wanted = wanted_state(action);
  const auto is_led = [&] {
    return supervisor_liveness(store.directory(), experiment_id) != Liveness::dead;
  };
  const bool was_led = is_led();
  {
    Change change(store);
    const std::string before = state_of(records, target, id);
    if (action == Action::kill && !was_led && !is_terminal(before))
      check_can_be_killed(store, target, id, experiment_id, tried);
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
  const std::vector<SupervisedRun> runs = live_runs(store, target, id);
  if (!has_supervisor) {
    const std::string now = state_of(records, Target::experiment, experiment_id);
    if (action == Action::kill) kill_runs(runs);
    if (action == Action::pause || action == Action::cancel) {
      Change change(store);
      for (const SupervisedRun &run : runs)
        change.signal(run.record.trial_id, run.record.run_id,
                      action == Action::pause ? "pause" : "cancel");
      change.commit();
    }
    if (now == state::killing || (now == state::canceling && runs.empty()))
      end_here(store, experiment_id);
  }
  const std::string now = state_of(records, target, id);
  const bool told = action != Action::activate && !is_terminal(now);
  const bool resumable =
      !has_supervisor && !is_terminal(state_of(records, Target::experiment, experiment_id));
  return {
      {"state", now},
      {"signalled", told ? static_cast<int64_t>(runs.size()) : 0},
      {"resume", resumable ? Json(run_again_command(store.directory(), experiment_id)) : Json()}};
}

}  // namespace det::engine
