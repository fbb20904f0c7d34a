// One rank of a run that lives: what it asks of the records of a store and does to them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/base/report.h"
#include "core/engine/runs/report_writer.h"
#include "core/engine/runs/run_backend.h"
#include "core/engine/runs/signal_watch.h"
#include "core/engine/runs/start_run.h"
#include "core/engine/states.h"
#include "core/engine/store.h"

namespace det::engine {

// The parts of a live run share its connection. They and the run are used by any thread.

class LivePreemption : public RunPreemption {
 public:
  LivePreemption(Store &store, const StartedRun &run, const std::filesystem::path &directory);

  bool wait(const Wake &wake) override { return signals_.wait(wake); }
  void note(const std::string &reason) override;
  void acknowledge() override;

 private:
  Database &records() { return store_.database(); }

  Store &store_;
  const StartedRun &run_;
  SignalWatch signals_;
};

class LiveOperations : public RunOperations {
 public:
  LiveOperations(Store &store, const StartedRun &run, Logger *log)
      : store_(store), run_(run), log_(log) {}

  SearchOperation current() override;
  // Waits until the search has decided, where there is a supervisor that answers.
  void complete(uint64_t length, const Json &metric) override;
  void acknowledge_none_left() override;

 private:
  Database &records() { return store_.database(); }
  SearchOperation read();
  void record_completion(uint64_t length, const Json &metric);
  bool is_undecided();
  bool awaits_program();
  void await_decision(Listener &answer);

  Store &store_;
  const StartedRun &run_;
  Logger *const log_;  // may be null
};

class LiveCheckpoints : public RunCheckpoints {
 public:
  LiveCheckpoints(Store &store, const StartedRun &run) : store_(store), run_(run) {}

  void report(const CheckpointReport &report) override;
  bool knows(const std::string &id) override;
  bool has_made(const std::string &id) override;
  std::vector<CheckpointEntry> list() override;
  std::optional<Json> metadata(const std::string &id) override;
  std::optional<Json> storage_of(const std::string &id) override;
  bool withdraw(const std::string &id) override;
  bool reinstate(const std::string &id) override;
  void note_deleted(const std::string &id) override;
  // Of what this run's storage has (find_superseded()).
  std::vector<WithdrawnCheckpoint> withdraw_superseded(const std::set<std::string> &held) override;

 private:
  Database &records() { return store_.database(); }
  bool move(const std::string &id, std::string_view from, std::string_view to);

  Store &store_;
  const StartedRun &run_;
};

class LiveRun : public RunBackend {
 public:
  LiveRun(Store store, StartedRun run, std::shared_ptr<Logger> log);
  LiveRun(const LiveRun &) = delete;
  LiveRun &operator=(const LiveRun &) = delete;
  ~LiveRun() override;  // one that was not ended has died

  const RunInfo &info() const override { return run_.info; }
  RunPreemption &preemption() override { return preemption_; }
  RunOperations &operations() override { return operations_; }
  RunCheckpoints &checkpoints() override { return checkpoints_; }
  void begin_from(const CheckpointEntry &latest) override {
    run_.info.latest_checkpoint = latest.id;
    run_.info.steps_completed = latest.steps;
  }
  std::filesystem::path run_directory() const override { return directory_; }
  std::string journal_id() const override { return run_.journal_id; }
  std::filesystem::path trace_file() const override;

  Delivery deliver(const JournalKey &journal, std::span<const Report> reports) override;
  void make_durable() override;

  void set_metadata(const Json &metadata) override;
  Json metadata() override;
  bool report_early_exit(const std::string &reason) override;
  std::optional<double> best_validation() override;
  std::optional<int64_t> last_validation() override;

  void end_run(RunEnd how) override;
  void end(RunExit how);

 private:
  Database &records() { return store_.database(); }
  void record_end(RunExit how);
  RunExit judged_by_ranks();

  Store store_;
  ReportWriter writer_;
  StartedRun run_;
  const std::shared_ptr<Logger> log_;
  const std::filesystem::path directory_;
  LivePreemption preemption_;
  LiveOperations operations_;
  LiveCheckpoints checkpoints_;
  bool ended_ = false;
};

// Opens or makes the store and starts the next run of the trial. Throws Code::not_found (no such
// trial), Code::state (another process runs it), Code::invalid (hyperparameters that are a search
// space, a length that is none), and what open_store() throws.
std::unique_ptr<LiveRun> start_live_run(const RunRequest &request);

}  // namespace det::engine
