#include "core/engine/runs/lifecycle.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/journal/run_directory.h"

namespace det::engine {

namespace {

// What an experiment is while its trials are as counted.
std::string_view experiment_state(Database &store, int64_t experiment_id, std::string_view before) {
  Query count = store.query(
      "SELECT COUNT(*), COUNT(*) FILTER (WHERE state='ACTIVE'),"
      " COUNT(*) FILTER (WHERE state='PAUSED'), COUNT(*) FILTER (WHERE state='STOPPING_CANCELED'),"
      " COUNT(*) FILTER (WHERE state='CANCELED'), COUNT(*) FILTER (WHERE state='ERROR')"
      " FROM trials WHERE experiment_id=?",
      experiment_id);
  count.next();
  if (count.integer(1) > 0) return state::active;
  if (count.integer(2) > 0) return state::paused;
  if (count.integer(3) > 0) return state::canceling;
  const int64_t trials = count.integer(0);
  if (before == state::canceling || count.integer(4) == trials) return state::canceled;
  return count.integer(5) == trials ? state::error : state::completed;
}

}  // namespace

std::optional<RunRecord> latest_run(Database &store, int64_t trial_id) {
  Query found = store.query(
      "SELECT run_id, process, command, exit FROM runs WHERE trial_id=?"
      " ORDER BY run_id DESC LIMIT 1",
      trial_id);
  if (!found.next()) return std::nullopt;
  const Json process = parse_json_object(found.view(1), "the process of a run");
  return RunRecord{trial_id,
                   found.integer(0),
                   ProcessIdentity::from_json(process),
                   found.text(2),
                   found.maybe_text(3),
                   process.value("command_starts_all", false),
                   process.value("directory", "")};
}

bool run_lives(const std::filesystem::path &store_directory, const RunRecord &run) {
  if (run.exit) return false;
  const Liveness process = liveness(run.process);
  if (process != Liveness::unknown) return process == Liveness::alive;
  // Another machine or container: the lock it holds may be seen from here.
  return owner_liveness(journal::owner_file(
             journal::run_directory(store_directory, run.trial_id, run.run_id))) != Liveness::dead;
}

std::optional<int64_t> supervised_experiment_of(Database &store, int64_t trial_id) {
  Query experiment = store.query(
      "SELECT experiments.id FROM trials JOIN experiments ON experiments.id=experiment_id"
      " WHERE trials.id=? AND managed<>0",
      trial_id);
  return experiment.next() ? std::optional(experiment.integer(0)) : std::nullopt;
}

void set_trial_state(Database &store, int64_t trial_id, std::string_view state) {
  store.run("UPDATE trials SET state=?, ended=? WHERE id=? AND state<>?", state, end_time(state),
            trial_id, state);
  Query experiment = store.query(
      "SELECT id, state FROM experiments WHERE id=(SELECT experiment_id FROM trials WHERE id=?)",
      trial_id);
  if (!experiment.next()) return;
  const int64_t id = experiment.integer(0);
  const std::string_view next = experiment_state(store, id, experiment.view(1));
  store.run("UPDATE experiments SET state=?, ended=? WHERE id=? AND state<>?", next, end_time(next),
            id, next);
}

void record_run_end(Database &store, int64_t trial_id, int64_t run_id, RunExit how) {
  Query found = store.query(
      "SELECT trials.state, signals.acknowledged IS NOT NULL,"
      " (SELECT completed IS NOT NULL FROM operations WHERE trial_id=trials.id"
      "  ORDER BY number DESC LIMIT 1), trials.last_run,"
      " EXISTS (SELECT 1 FROM ranks WHERE trial_id=runs.trial_id AND run_id=runs.run_id),"
      " experiments.managed"
      " FROM runs JOIN trials ON trials.id=runs.trial_id"
      " JOIN experiments ON experiments.id=trials.experiment_id"
      " LEFT JOIN signals ON signals.trial_id=runs.trial_id AND signals.run_id=runs.run_id"
      " WHERE runs.trial_id=? AND runs.run_id=? AND runs.exit IS NULL",
      trial_id, run_id);
  if (!found.next()) return;
  const std::string before = found.text(0);
  const bool acknowledged = found.integer(1) != 0;
  const bool done = found.integer(2) != 0;
  const bool several = found.integer(4) != 0;
  if (how == RunExit::ok && acknowledged && !done) how = RunExit::preempted;
  const int64_t now = now_us();
  store.run("UPDATE runs SET ended=?, exit=? WHERE trial_id=? AND run_id=?", now,
            run_exit_name(how), trial_id, run_id);
  // The chief's end is that of the run; a kill is meant for all.
  if (several)
    store.run(
        "UPDATE ranks SET ended=?, exit=?"
        " WHERE trial_id=? AND run_id=? AND (rank=0 OR ?<>0) AND exit IS NULL",
        now, run_exit_name(how), trial_id, run_id, how == RunExit::killed);
  // A supervisor judges by more than what the process said.
  if (found.integer(3) == run_id && found.integer(5) == 0)
    set_trial_state(store, trial_id, state_after(how, before, acknowledged, done));
}

void revise_run_end(Database &store, int64_t trial_id, int64_t run_id) {
  store.run(
      "UPDATE runs SET exit='error' WHERE trial_id=? AND run_id=? AND exit IN ('ok', 'preempted')",
      trial_id, run_id);
  if (store.changes() == 0) return;
  Query trial = store.query(
      "SELECT 1 FROM trials JOIN experiments ON experiments.id=experiment_id"
      " WHERE trials.id=? AND last_run=? AND managed=0 AND trials.state NOT IN (?, ?)",
      trial_id, run_id, state::canceled, state::canceling);
  if (trial.next()) set_trial_state(store, trial_id, state::error);
}

}  // namespace det::engine
