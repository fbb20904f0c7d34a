// One rank of a run that lives: what it asks of the records and does to them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/log.h"
#include "core/base/report.h"
#include "core/engine/runs/report_writer.h"
#include "core/engine/runs/run_info.h"
#include "core/engine/runs/signal_watch.h"
#include "core/engine/runs/start_run.h"
#include "core/engine/states.h"
#include "core/engine/store.h"

namespace det::engine {

// Used by any thread.
class LiveRun {
 public:
  LiveRun(Store store, StartedRun run, std::shared_ptr<Logger> log);
  ~LiveRun();  // one that was not ended has died

  const RunInfo &info() const { return run_.info; }
  void begin_from(const CheckpointEntry &latest) {
    run_.info.latest_checkpoint = latest.id;
    run_.info.steps_completed = latest.steps;
  }
  const std::filesystem::path &directory() const { return directory_; }
  const std::string &journal_id() const { return run_.journal_id; }
  // Where this rank keeps its regions.
  std::filesystem::path trace_file() const;

  Delivery deliver(const JournalKey &journal, std::span<const Report> reports);
  // Deliveries survive a power cut from now on, and so does the record of this run.
  void make_durable();

  // Until it is asked to stop (true) or `wake` is set (false). One thread at a time.
  bool wait_signal(const Wake &wake) { return signals_.wait(wake); }
  // It was asked to stop by somebody else than the master.
  void note_signal(const std::string &reason);
  // Throws Code::state where nobody asked it to stop.
  void acknowledge_signal();

  SearchOperation current_operation();
  // Throws Code::state where that is not its operation. Waits until the search has decided, where
  // there is a supervisor that answers.
  void complete_operation(uint64_t length, const Json &metric);
  void acknowledge_out_of_operations();

  void report_checkpoint(const CheckpointReport &report);
  // The states of checkpoints, by their ids.
  bool knows_checkpoint(const std::string &id);
  bool has_made_checkpoint(const std::string &id);
  std::vector<CheckpointEntry> checkpoints();  // complete ones of the trial, most steps first
  std::optional<Json> checkpoint_metadata(const std::string &id);
  std::optional<Json> checkpoint_storage(const std::string &id);
  bool withdraw_checkpoint(const std::string &id);
  bool reinstate_checkpoint(const std::string &id);
  void checkpoint_deleted(const std::string &id);
  // Withdraws what is superseded by now (find_superseded()), of what this run's storage has, except
  // what is `held`.
  std::vector<WithdrawnCheckpoint> withdraw_superseded(const std::set<std::string> &held);

  void set_metadata(const Json &metadata);
  Json metadata();
  // False when a reason was reported before: that one stays.
  bool report_early_exit(const std::string &reason);
  std::optional<double> best_validation();
  std::optional<int64_t> last_validation();  // its steps

  // The chief ends the run; another rank says how its part in it ended.
  void end(RunExit how);

 private:
  Database &records() { return store_.database(); }
  std::string trial_name() const { return "trial " + std::to_string(run_.info.trial_id); }
  SearchOperation read_operation();
  void record_completion(uint64_t length, const Json &metric);
  bool is_undecided();
  bool awaits_program();
  void await_decision(Listener &answer);
  void record_end(RunExit how);
  RunExit judged_by_ranks();
  bool move_checkpoint(const std::string &id, std::string_view from, std::string_view to);

  std::mutex mutex_;  // guards the connection and what stands on it
  Store store_;
  ReportWriter writer_;
  StartedRun run_;
  const std::shared_ptr<Logger> log_;
  const std::filesystem::path directory_;
  SignalWatch signals_;
  bool ended_ = false;
};

// Opens or makes the store and starts the next run of the trial. Throws Code::not_found (no such
// trial), Code::state (another process runs it), Code::invalid (hyperparameters that are a search
// space, a length that is none), and what open_store() throws.
std::unique_ptr<LiveRun> start_live_run(const RunRequest &request);

}  // namespace det::engine
