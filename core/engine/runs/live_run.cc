#include "core/engine/runs/live_run.h"

#include <chrono>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/engine/change.h"
#include "core/engine/checkpoints/checkpoint_records.h"
#include "core/engine/checkpoints/garbage.h"
#include "core/engine/checkpoints/stored_checkpoints.h"
#include "core/engine/copied_store.h"
#include "core/engine/experiment.h"
#include "core/engine/records/deletion.h"
#include "core/engine/records/entries.h"
#include "core/engine/runs/best_validation.h"
#include "core/engine/runs/lifecycle.h"
#include "core/engine/runs/ranks.h"
#include "core/engine/runs/traces.h"
#include "core/engine/states.h"
#include "core/engine/store_places.h"
#include "core/engine/time_left.h"
#include "core/journal/run_directory.h"

namespace det::engine {

namespace {

std::string name_of_trial(const StartedRun &run) {
  return "trial " + std::to_string(run.info.trial_id);
}

// It would look alive as long as this process is.
void abandon_run(const RunRequest &request, int64_t trial_id, int64_t run_id) noexcept {
  try {
    Store store(request.store_directory, false, request.options);
    Change change(store, Durability::relaxed);
    record_run_end(store.database(), trial_id, run_id, RunExit::died);
    change.commit();
    journal::remove_run_directory(
        journal::run_directory(request.store_directory, trial_id, run_id));
  } catch (const std::exception &) {
    return;  // the next start says what is wrong
  }
}

}  // namespace

LiveRun::LiveRun(Store store, StartedRun run, std::shared_ptr<Logger> log)
    : store_(std::move(store)),
      writer_(records()),
      run_(std::move(run)),
      log_(std::move(log)),
      directory_(journal::run_directory(store_.directory(), run_.info.trial_id, run_.info.run_id,
                                        run_.rank)),
      preemption_(store_, run_, directory_),
      operations_(store_, run_, log_.get()),
      checkpoints_(store_, run_) {}

LiveRun::~LiveRun() {
  try {
    // Not ended in order: the trial can be started again.
    if (!ended_) record_end(RunExit::died);
    journal::remove_run_directory(directory_);
  } catch (const std::exception &) {
    // Left for the recovery of the next start.
  }
}

std::filesystem::path LiveRun::trace_file() const {
  return place_for_trace(store_.directory(), run_.info, run_.rank);
}

Delivery LiveRun::deliver(const JournalKey &journal, std::span<const Report> reports) {
  const auto guard = store_.lock();
  return writer_.deliver(journal, reports);
}

void LiveRun::make_durable() {
  const auto guard = store_.lock();
  writer_.make_durable();
  Change change(store_);  // takes all before it along
  records().run("UPDATE runs SET run_id=run_id WHERE trial_id=? AND run_id=?", run_.info.trial_id,
                run_.info.run_id);
  change.commit();
}

LivePreemption::LivePreemption(Store &store, const StartedRun &run,
                               const std::filesystem::path &directory)
    : store_(store), run_(run), signals_(store, directory, run.info.trial_id, run.info.run_id) {}

void LivePreemption::note(const std::string &reason) {
  signals_.raise();
  const auto guard = store_.lock();
  Change change(store_, Durability::relaxed);
  if (run_.alone) record_signal(records(), run_.info.trial_id, run_.info.run_id, reason);
  else change.signal(run_.info.trial_id, run_.info.run_id, reason);
  change.commit();
}

void LivePreemption::acknowledge() {
  const auto guard = store_.lock();
  Change change(store_, Durability::relaxed);
  records().run(
      "UPDATE signals SET acknowledged=COALESCE(acknowledged, ?) WHERE trial_id=? AND run_id=?",
      now_us(), run_.info.trial_id, run_.info.run_id);
  if (records().changes() == 0)
    throw Error(Code::state,
                "acknowledging a preemption of " + name_of_trial(run_) +
                    ": nobody asked it to stop; acknowledge only after should_preempt was true");
  change.commit();
}

SearchOperation LiveOperations::read() {
  Query operation = records().query(
      "SELECT length, completed IS NOT NULL FROM operations WHERE trial_id=?"
      " ORDER BY number DESC LIMIT 1",
      run_.info.trial_id);
  if (!operation.next()) return {0, true};
  return {static_cast<uint64_t>(operation.integer(0)), operation.integer(1) != 0};
}

SearchOperation LiveOperations::current() {
  const auto guard = store_.lock();
  return read();
}

void LiveOperations::complete(uint64_t length, const Json &metric) {
  if (!run_.supervised) return record_completion(length, metric);
  const auto listener = store_.waking().listen(run_.info.experiment_id);
  record_completion(length, metric);
  await_decision(*listener);
}

void LiveOperations::record_completion(uint64_t length, const Json &metric) {
  const auto guard = store_.lock();
  Change change(store_);
  const SearchOperation operation = read();
  const std::string tried =
      "completing length " + std::to_string(length) + " of " + name_of_trial(run_);
  if (length != operation.length)
    throw Error(Code::state, tried + ": its operation has length " +
                                 std::to_string(operation.length) + "; complete that one");
  if (operation.completed)
    throw Error(Code::state, tried + ": it was completed before; ask for the next operation");
  records().run(
      "UPDATE operations SET completed=?, metric=? WHERE trial_id=? AND completed IS NULL",
      now_us(), to_wire(metric), run_.info.trial_id);
  records().run("UPDATE trials SET progress=1 WHERE id=?", run_.info.trial_id);
  if (run_.supervised) change.tell_supervisor(run_.info.experiment_id);
  change.commit();
}

bool LiveOperations::is_undecided() {
  const auto guard = store_.lock();
  return records()
      .query(
          "SELECT 1 FROM operations WHERE trial_id=? AND completed IS NOT NULL AND decided IS NULL",
          run_.info.trial_id)
      .next();
}

// Whether the program that decides a custom search has still to acknowledge a completion of this.
bool LiveOperations::awaits_program() {
  const auto guard = store_.lock();
  return records()
      .query(
          "SELECT 1 FROM trials JOIN experiments ON experiments.id=trials.experiment_id"
          " JOIN search_queue ON search_queue.experiment_id=trials.experiment_id"
          " WHERE trials.id=? AND experiments.state=?"
          " AND event LIKE '%\"validationCompleted\"%\"requestId\":\"' || request_id || '\"%'",
          run_.info.trial_id, state::active)
      .next();
}

// The next operation, or that there is none for now, is what the search makes of this one. Without
// a supervisor that answers it waits for one, and so does the trial, having left.
void LiveOperations::await_decision(Listener &answer) {
  const int64_t experiment_id = run_.info.experiment_id;
  TimeLeft left(store_.options().answer_limit);
  while (is_undecided()) {
    if (left.is_over()) {
      if (log_)
        log_->warning("waiting for the search of " + name_of_trial(run_) +
                      ": its `det run` lives and does not answer; it may be stopped. The trial "
                      "leaves, and resumes when it answers");
      return;
    }
    answer.wait(left.now());
    if (supervisor_liveness(store_.directory(), experiment_id) == Liveness::dead) return;
    store_.waking().wake_supervisor(experiment_id);
  }
  for (const TimeLeft moment(store_.options().decision_limit);
       awaits_program() && !moment.is_over();)
    answer.wait(moment.now());
}

void LiveOperations::acknowledge_none_left() {
  const auto guard = store_.lock();
  Change change(store_, Durability::relaxed);
  if (const SearchOperation operation = read(); !operation.completed)
    throw Error(Code::state, "acknowledging that " + name_of_trial(run_) +
                                 " has no more work: its operation of length " +
                                 std::to_string(operation.length) + " is not completed");
  records().run("UPDATE runs SET out_of_operations=1 WHERE trial_id=? AND run_id=?",
                run_.info.trial_id, run_.info.run_id);
  change.commit();
}

void LiveRun::set_metadata(const Json &metadata) {
  const auto guard = store_.lock();
  Change change(store_);
  records().run("UPDATE trials SET metadata=? WHERE id=?", to_wire(metadata), run_.info.trial_id);
  change.commit();
}

Json LiveRun::metadata() {
  const auto guard = store_.lock();
  Query found = records().query("SELECT metadata FROM trials WHERE id=?", run_.info.trial_id);
  return found.next() ? parse_json_object(found.view(0), "the metadata of " + name_of_trial(run_))
                      : Json::object();
}

bool LiveRun::report_early_exit(const std::string &reason) {
  const auto guard = store_.lock();
  Change change(store_);
  records().run("UPDATE trials SET early_exit=? WHERE id=? AND early_exit IS NULL", reason,
                run_.info.trial_id);
  const bool first = records().changes() > 0;
  if (run_.supervised) change.tell_supervisor(run_.info.experiment_id);
  change.commit();
  return first;
}

std::optional<double> LiveRun::best_validation() {
  const auto guard = store_.lock();
  return det::engine::best_validation(records(), run_.info.experiment_id);
}

std::optional<int64_t> LiveRun::last_validation() {
  const auto guard = store_.lock();
  return last_reported_step(records(), run_.info.trial_id, "validation");
}

void LiveRun::end_run(RunEnd how) {
  end(how == RunEnd::ok           ? RunExit::ok
      : how == RunEnd::invalid_hp ? RunExit::invalid_hp
                                  : RunExit::error);
}

void LiveRun::end(RunExit how) {
  record_end(how);
  journal::remove_run_directory(directory_);
}

void LiveRun::record_end(RunExit how) {
  const auto guard = store_.lock();
  Change change(store_, Durability::relaxed);
  const RunInfo &info = run_.info;
  if (run_.rank != 0) {
    record_rank_end(records(), info.trial_id, info.run_id, run_.rank, how);
  } else if (const RunExit others = run_.alone ? RunExit::ok : judged_by_ranks();
             how != RunExit::ok || others == RunExit::ok) {
    record_run_end(records(), info.trial_id, info.run_id, how);
  } else {
    record_rank_end(records(), info.trial_id, info.run_id, 0, how);
    record_run_end(records(), info.trial_id, info.run_id, others);
  }
  change.commit();
  ended_ = true;
}

// The crash of one rank is the crash of the run, however well the chief ends.
RunExit LiveRun::judged_by_ranks() {
  const RunInfo &info = run_.info;
  for (const int rank :
       record_lost_ranks(records(), store_.directory(), info.trial_id, info.run_id))
    if (log_)
      log_->warning("ending run " + std::to_string(info.run_id) + " of " + name_of_trial(run_) +
                    ": rank " + std::to_string(rank) + " died without closing");
  return worst_rank_exit(records(), info.trial_id, info.run_id);
}

void LiveCheckpoints::report(const CheckpointReport &report) {
  const auto guard = store_.lock();
  Change change(store_);
  record_checkpoint(records(), run_.info, report);
  change.commit();
}

bool LiveCheckpoints::knows(const std::string &id) {
  const auto guard = store_.lock();
  return records().query("SELECT 1 FROM checkpoints WHERE uuid=? AND state='COMPLETED'", id).next();
}

// Only this library reports to a store.
bool LiveCheckpoints::has_made(const std::string &id) {
  const auto guard = store_.lock();
  return records().query("SELECT 1 FROM checkpoints WHERE uuid=?", id).next();
}

bool LiveCheckpoints::move(const std::string &id, std::string_view from, std::string_view to) {
  records().run("UPDATE checkpoints SET state=? WHERE uuid=? AND state=?", to, id, from);
  return records().changes() > 0;
}

bool LiveCheckpoints::withdraw(const std::string &id) {
  const auto guard = store_.lock();
  Change change(store_);
  require_own_files(records(), id);
  require_unpinned(records(), id);
  const bool moved = move(id, "COMPLETED", "PARTIALLY_DELETED");
  change.commit();
  return moved;
}

bool LiveCheckpoints::reinstate(const std::string &id) {
  const auto guard = store_.lock();
  Change change(store_);
  const bool moved = move(id, "PARTIALLY_DELETED", "COMPLETED");
  change.commit();
  return moved;
}

// A power cut may take this back: who then looks for the files finds that they are gone.
std::vector<WithdrawnCheckpoint> LiveCheckpoints::withdraw_superseded(
    const std::set<std::string> &held) {
  const auto guard = store_.lock();
  const int64_t trial_id = run_.info.trial_id;
  const auto find = [&] {
    std::vector<StoredCheckpoint> found = find_superseded(records(), trial_id);
    std::erase_if(found, [&](const StoredCheckpoint &one) { return held.contains(one.uuid); });
    return found;
  };
  std::vector<WithdrawnCheckpoint> withdrawn;
  if (find().empty()) return withdrawn;
  const CopiedStore copied(records());
  Change change(store_, Durability::relaxed);
  std::string storage;
  {
    Query newest = records().query(
        "SELECT storage FROM checkpoints WHERE trial_id=? AND run_id=? ORDER BY id DESC LIMIT 1",
        trial_id, run_.info.run_id);
    if (newest.next()) storage = newest.text(0);
  }
  for (const StoredCheckpoint &one : find()) {
    if (one.storage != storage) continue;
    if (copied.shares(one.id, parse_json(one.storage, "where a checkpoint is"))) continue;
    records().run("UPDATE checkpoints SET state='PARTIALLY_DELETED' WHERE id=?", one.id);
    withdrawn.push_back({one.uuid, one.state == "COMPLETED"});
  }
  change.commit();
  return withdrawn;
}

std::vector<CheckpointEntry> LiveCheckpoints::list() {
  const auto guard = store_.lock();
  std::vector<CheckpointEntry> all;
  Query row = records().query(
      "SELECT uuid, steps, time, size FROM checkpoints WHERE trial_id=? AND state='COMPLETED'"
      " ORDER BY steps DESC, time DESC, id DESC",
      run_.info.trial_id);
  while (row.next()) all.push_back({row.text(0), row.integer(1), row.integer(2), row.integer(3)});
  return all;
}

std::optional<Json> LiveCheckpoints::metadata(const std::string &id) {
  const auto guard = store_.lock();
  Query found = records().query("SELECT metadata FROM checkpoints WHERE uuid=?", id);
  if (!found.next()) return std::nullopt;
  return parse_json_object(found.view(0), "the metadata of checkpoint " + id);
}

std::optional<Json> LiveCheckpoints::storage_of(const std::string &id) {
  const auto guard = store_.lock();
  Query found = records().query("SELECT storage FROM checkpoints WHERE uuid=?", id);
  if (!found.next()) return std::nullopt;
  return used_storage(home_of(records()),
                      parse_json(found.view(0), "where checkpoint " + id + " is"));
}

void LiveCheckpoints::note_deleted(const std::string &id) {
  const auto guard = store_.lock();
  Change change(store_);
  records().run("UPDATE checkpoints SET state='DELETED' WHERE uuid=?", id);
  change.commit();
}

std::unique_ptr<LiveRun> start_live_run(const RunRequest &request) {
  Store store(request.store_directory, true, request.options);
  StartedRun run = start_run(store.database(), request);
  const int64_t trial_id = run.info.trial_id, run_id = run.info.run_id;
  try {
    return std::make_unique<LiveRun>(std::move(store), std::move(run), request.log);
  } catch (...) {
    abandon_run(request, trial_id, run_id);
    throw;
  }
}

}  // namespace det::engine
