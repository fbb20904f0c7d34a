#include "core/master/embedded/running_trial.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/engine/best_validation.h"
#include "core/engine/checkpoint_records.h"
#include "core/engine/experiment.h"
#include "core/engine/ranks.h"
#include "core/engine/run_directory.h"

namespace det {

namespace {

RunExit exit_of(RunEnd how) {
  switch (how) {
    case RunEnd::ok:
      return RunExit::ok;
    case RunEnd::invalid_hp:
      return RunExit::invalid_hp;
    default:
      return RunExit::error;
  }
}

}  // namespace

RunningTrial::RunningTrial(Database store, StartedRun run, std::filesystem::path store_directory,
                           const StoreOptions &options, std::shared_ptr<Logger> log)
    : store_(std::move(store)),
      writer_(store_),
      run_(std::move(run)),
      log_(std::move(log)),
      store_directory_(std::move(store_directory)),
      run_directory_(
          det::run_directory(store_directory_, run_.info.trial_id, run_.info.run_id, run_.rank)),
      signals_(store_directory_, run_directory_, run_.info.trial_id, run_.info.run_id, options) {}

RunningTrial::~RunningTrial() {
  try {
    // Not ended in order: the trial can be started again.
    if (!ended_) end(RunExit::died);
    remove_run_directory(run_directory_);
  } catch (const std::exception &) {
    // Left for the recovery of the next start.
  }
}

std::string RunningTrial::trial_name() const {
  return "trial " + std::to_string(run_.info.trial_id);
}

Delivery RunningTrial::deliver(const JournalKey &journal, std::span<const Report> reports) {
  const std::lock_guard guard(mutex_);
  return writer_.deliver(journal, reports);
}

void RunningTrial::note_preemption(const std::string &reason) {
  signals_.raise();
  const std::lock_guard guard(mutex_);
  Transaction transaction(store_, Durability::relaxed);
  record_signal(store_, run_.info.trial_id, run_.info.run_id, reason);
  transaction.commit();
  if (!run_.alone) wake_run(store_directory_, run_.info.trial_id, run_.info.run_id);
}

void RunningTrial::acknowledge_preemption() {
  const std::lock_guard guard(mutex_);
  Transaction transaction(store_, Durability::relaxed);
  store_.run(
      "UPDATE signals SET acknowledged=IFNULL(acknowledged, ?) WHERE trial_id=? AND run_id=?",
      now_us(), run_.info.trial_id, run_.info.run_id);
  if (store_.changes() == 0)
    throw Error(Code::state,
                "acknowledging a preemption of " + trial_name() +
                    ": nobody asked it to stop; acknowledge only after should_preempt was true");
  transaction.commit();
}

SearchOperation RunningTrial::read_operation() {
  Query operation = store_.query(
      "SELECT length, completed IS NOT NULL FROM operations WHERE trial_id=?"
      " ORDER BY number DESC LIMIT 1",
      run_.info.trial_id);
  if (!operation.next()) return {0, true};
  return {static_cast<uint64_t>(operation.integer(0)), operation.integer(1) != 0};
}

SearchOperation RunningTrial::current_operation() {
  const std::lock_guard guard(mutex_);
  return read_operation();
}

void RunningTrial::complete_operation(uint64_t length, const Json &metric) {
  record_completion(length, metric);
  if (run_.supervised) await_decision();
}

void RunningTrial::record_completion(uint64_t length, const Json &metric) {
  const std::lock_guard guard(mutex_);
  Transaction transaction(store_);
  const SearchOperation operation = read_operation();
  const std::string tried = "completing length " + std::to_string(length) + " of " + trial_name();
  if (length != operation.length)
    throw Error(Code::state, tried + ": its operation has length " +
                                 std::to_string(operation.length) + "; complete that one");
  if (operation.completed)
    throw Error(Code::state, tried + ": it was completed before; ask for the next operation");
  store_.run("UPDATE operations SET completed=?, metric=? WHERE trial_id=? AND completed IS NULL",
             now_us(), to_wire(metric), run_.info.trial_id);
  store_.run("UPDATE trials SET progress=1 WHERE id=?", run_.info.trial_id);
  transaction.commit();
}

// The next operation, or that there is none for now, is what the search makes of this one. Without
// a supervisor it waits for the next one, and so does the trial, having left.
void RunningTrial::await_decision() {
  using std::chrono::milliseconds;
  constexpr milliseconds longest_pause{5}, until_next_check{1000};
  std::chrono::microseconds pause{200};
  auto check = std::chrono::steady_clock::now() + until_next_check;
  wake_supervisor(store_directory_, run_.info.experiment_id);
  for (;;) {
    {
      const std::lock_guard guard(mutex_);
      Query undecided = store_.query(
          "SELECT 1 FROM operations WHERE trial_id=? AND completed IS NOT NULL AND decided IS NULL",
          run_.info.trial_id);
      if (!undecided.next()) return;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(pause * 2, longest_pause);
    if (std::chrono::steady_clock::now() < check) continue;
    if (supervisor_liveness(store_directory_, run_.info.experiment_id) == Liveness::dead) return;
    wake_supervisor(store_directory_, run_.info.experiment_id);
    check = std::chrono::steady_clock::now() + until_next_check;
  }
}

void RunningTrial::acknowledge_out_of_operations() {
  const std::lock_guard guard(mutex_);
  Transaction transaction(store_, Durability::relaxed);
  if (const SearchOperation operation = read_operation(); !operation.completed)
    throw Error(Code::state, "acknowledging that " + trial_name() +
                                 " has no more work: its operation of length " +
                                 std::to_string(operation.length) + " is not completed");
  store_.run("UPDATE runs SET out_of_operations=1 WHERE trial_id=? AND run_id=?",
             run_.info.trial_id, run_.info.run_id);
  transaction.commit();
}

void RunningTrial::report_checkpoint(const CheckpointReport &report) {
  const std::lock_guard guard(mutex_);
  Transaction transaction(store_);
  record_checkpoint(store_, run_.info, report);
  transaction.commit();
}

bool RunningTrial::knows_checkpoint(const std::string &id) {
  const std::lock_guard guard(mutex_);
  return store_.query("SELECT 1 FROM checkpoints WHERE uuid=? AND state='COMPLETED'", id).next();
}

// Only this library reports to a store.
bool RunningTrial::has_made_checkpoint(const std::string &id) {
  const std::lock_guard guard(mutex_);
  return store_.query("SELECT 1 FROM checkpoints WHERE uuid=?", id).next();
}

bool RunningTrial::move_checkpoint(const std::string &id, std::string_view from,
                                   std::string_view to) {
  const std::lock_guard guard(mutex_);
  Transaction transaction(store_);
  store_.run("UPDATE checkpoints SET state=? WHERE uuid=? AND state=?", to, id, from);
  const bool moved = store_.changes() > 0;
  transaction.commit();
  return moved;
}

bool RunningTrial::withdraw_checkpoint(const std::string &id) {
  return move_checkpoint(id, "COMPLETED", "PARTIALLY_DELETED");
}

bool RunningTrial::reinstate_checkpoint(const std::string &id) {
  return move_checkpoint(id, "PARTIALLY_DELETED", "COMPLETED");
}

std::optional<Json> RunningTrial::checkpoint_metadata(const std::string &id) {
  const std::lock_guard guard(mutex_);
  Query found = store_.query("SELECT metadata FROM checkpoints WHERE uuid=?", id);
  if (!found.next()) return std::nullopt;
  return parse_json_object(found.view(0), "the metadata of checkpoint " + id);
}

void RunningTrial::checkpoint_deleted(const std::string &id) {
  const std::lock_guard guard(mutex_);
  Transaction transaction(store_);
  store_.run("UPDATE checkpoints SET state='DELETED' WHERE uuid=?", id);
  transaction.commit();
}

void RunningTrial::set_metadata(const Json &metadata) {
  const std::lock_guard guard(mutex_);
  Transaction transaction(store_);
  store_.run("UPDATE trials SET metadata=? WHERE id=?", to_wire(metadata), run_.info.trial_id);
  transaction.commit();
}

Json RunningTrial::metadata() {
  const std::lock_guard guard(mutex_);
  Query found = store_.query("SELECT metadata FROM trials WHERE id=?", run_.info.trial_id);
  return found.next() ? parse_json_object(found.view(0), "the metadata of " + trial_name())
                      : Json::object();
}

bool RunningTrial::report_early_exit(const std::string &reason) {
  const std::lock_guard guard(mutex_);
  Transaction transaction(store_);
  store_.run("UPDATE trials SET early_exit=? WHERE id=? AND early_exit IS NULL", reason,
             run_.info.trial_id);
  const bool first = store_.changes() > 0;
  transaction.commit();
  if (run_.supervised) wake_supervisor(store_directory_, run_.info.experiment_id);
  return first;
}

std::optional<double> RunningTrial::best_validation() {
  const std::lock_guard guard(mutex_);
  return det::best_validation(store_, run_.info.experiment_id);
}

void RunningTrial::end_run(RunEnd how) {
  end(exit_of(how));
  remove_run_directory(run_directory_);
}

void RunningTrial::end(RunExit how) {
  const std::lock_guard guard(mutex_);
  Transaction transaction(store_, Durability::relaxed);
  const RunInfo &info = run_.info;
  if (run_.rank != 0) {
    record_rank_end(store_, info.trial_id, info.run_id, run_.rank, how);
  } else if (const RunExit others = run_.alone ? RunExit::ok : judged_by_ranks();
             how != RunExit::ok || others == RunExit::ok) {
    record_run_end(store_, info.trial_id, info.run_id, how);
  } else {
    record_rank_end(store_, info.trial_id, info.run_id, 0, how);
    record_run_end(store_, info.trial_id, info.run_id, others);
  }
  transaction.commit();
  ended_ = true;
}

// The crash of one rank is the crash of the run, however well the chief ends.
RunExit RunningTrial::judged_by_ranks() {
  const RunInfo &info = run_.info;
  for (const int rank : record_lost_ranks(store_, store_directory_, info.trial_id, info.run_id))
    if (log_)
      log_->warning("ending run " + std::to_string(info.run_id) + " of " + trial_name() +
                    ": rank " + std::to_string(rank) + " died without closing");
  return worst_rank_exit(store_, info.trial_id, info.run_id);
}

}  // namespace det
