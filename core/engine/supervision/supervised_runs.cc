#include "core/engine/supervision/supervised_runs.h"

#include "core/base/clock.h"
#include "core/engine/change.h"
#include "core/engine/runs/lifecycle.h"
#include "core/engine/runs/start_run.h"

namespace det::engine {

std::vector<UnjudgedRun> SupervisedRuns::unjudged() {
  std::vector<UnjudgedRun> runs;
  Query rows = records().query(
      "SELECT trials.id, runs.run_id, runs.leader, runs.log_offset FROM trials"
      " JOIN runs ON trial_id=trials.id AND run_id=last_run AND leader IS NOT NULL"
      " WHERE experiment_id=? AND trials.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')"
      " ORDER BY trials.id",
      experiment_id_);
  while (rows.next())
    runs.push_back(
        {rows.integer(0), rows.integer(1), rows.text(2), static_cast<uint64_t>(rows.integer(3))});
  return runs;
}

RunInfo SupervisedRuns::next(int64_t trial_id) { return describe_next_run(records(), trial_id); }

void SupervisedRuns::start(const RunInfo &run, const std::string &leader) {
  Change change(store_, Durability::relaxed);
  record_next_run(records(), run, leader);
  change.commit();
}

void SupervisedRuns::ask_to_leave(int64_t trial_id, int64_t run_id, std::string_view reason) {
  Change change(store_, Durability::relaxed);
  change.signal(trial_id, run_id, reason);
  change.commit();
}

std::optional<std::string> SupervisedRuns::exit_of(int64_t trial_id, int64_t run_id) {
  Query run =
      records().query("SELECT exit FROM runs WHERE trial_id=? AND run_id=?", trial_id, run_id);
  return run.next() ? run.maybe_text(0) : std::nullopt;
}

bool SupervisedRuns::was_taken_up(int64_t trial_id, int64_t run_id) {
  return !records()
              .query("SELECT 1 FROM runs WHERE trial_id=? AND run_id=? AND journal_id=''", trial_id,
                     run_id)
              .next();
}

void SupervisedRuns::end(int64_t trial_id, int64_t run_id, RunExit how) {
  Change change(store_, Durability::relaxed);
  record_run_end(records(), trial_id, run_id, how);
  change.commit();
}

RunStanding SupervisedRuns::standing(int64_t trial_id, int64_t run_id) {
  Query row = records().query(
      "SELECT trials.state, restarts, closed, early_exit IS NOT NULL OR "
      "COALESCE(exit='invalid_hp', FALSE),"
      " out_of_operations<>0 OR EXISTS (SELECT 1 FROM signals WHERE trial_id=trials.id"
      "  AND signals.run_id=runs.run_id AND acknowledged IS NOT NULL),"
      " COALESCE((SELECT decided IS NOT NULL FROM operations WHERE trial_id=trials.id"
      "  ORDER BY number DESC LIMIT 1), TRUE),"
      " restarts_forbidden_by IS NOT NULL"
      " FROM trials JOIN runs ON trial_id=trials.id AND run_id=? WHERE trials.id=?",
      run_id, trial_id);
  row.next();
  RunStanding standing;
  standing.trial_state = row.text(0);
  standing.restarts = row.integer(1);
  standing.closed = row.integer(2) != 0;
  standing.invalid_hp = row.integer(3) != 0;
  standing.acknowledged = row.integer(4) != 0;
  standing.done = row.integer(5) != 0;
  standing.restarts_forbidden = row.integer(6) != 0;
  return standing;
}

void record_judged_run(Database &store, int64_t trial_id, const JudgedRun &run) {
  record_run_end(store, trial_id, run.run_id, run.exit);
  store.run("UPDATE runs SET leader=NULL WHERE trial_id=? AND run_id=?", trial_id, run.run_id);
  if (run.counts) store.run("UPDATE trials SET restarts=restarts+1 WHERE id=?", trial_id);
}

void SupervisedRuns::judge(int64_t trial_id, const JudgedRun &run) {
  Change change(store_, Durability::relaxed);
  record_judged_run(records(), trial_id, run);
  change.commit();
}

void RunOutput::insert(int64_t trial_id, int64_t run_id, LogLevel level, const std::string &text) {
  records().run(
      "INSERT INTO logs (trial_id, run_id, rank, time, level, text) VALUES (?, ?, 0, ?, ?, ?)",
      trial_id, run_id, now_us(), static_cast<int64_t>(level), text);
}

void RunOutput::add(int64_t trial_id, int64_t run_id, LogLevel level, const std::string &text) {
  Change change(store_, Durability::relaxed);
  insert(trial_id, run_id, level, text);
  change.commit();
}

bool RunOutput::add_lines(int64_t trial_id, int64_t run_id, const std::vector<std::string> &lines,
                          uint64_t offset, const std::optional<std::string> &policy) {
  Change change(store_, Durability::relaxed);
  for (const std::string &line : lines) insert(trial_id, run_id, LogLevel::info, line);
  bool forbidden = false;
  if (policy) {
    records().run(
        "UPDATE trials SET restarts_forbidden_by=? WHERE id=? AND restarts_forbidden_by IS NULL",
        *policy, trial_id);
    forbidden = records().changes() > 0;
  }
  records().run("UPDATE runs SET log_offset=? WHERE trial_id=? AND run_id=?", offset, trial_id,
                run_id);
  change.commit();
  return forbidden;
}

}  // namespace det::engine
