// The embedded master as one rank of one run of one trial sees it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/engine/delivery.h"
#include "core/engine/lifecycle.h"
#include "core/engine/signals.h"
#include "core/engine/start.h"
#include "core/master/master.h"

namespace det {

class RunningTrial : public Master {
 public:
  RunningTrial(Database store, StartedRun run, std::filesystem::path store_directory,
               const StoreOptions &options, std::shared_ptr<Logger> log);
  ~RunningTrial() override;

  const RunInfo &info() const override { return run_.info; }
  std::filesystem::path run_directory() const override { return run_directory_; }
  std::string journal_id() const override { return run_.journal_id; }

  Delivery deliver(const JournalKey &journal, std::span<const Report> reports) override;

  bool wait_preemption(const Wake &wake) override { return signals_.wait(wake); }
  void note_preemption(const std::string &reason) override;
  void acknowledge_preemption() override;

  SearchOperation current_operation() override;
  void complete_operation(uint64_t length, const Json &metric) override;
  void acknowledge_out_of_operations() override;

  void report_checkpoint(const CheckpointReport &report) override;
  bool knows_checkpoint(const std::string &id) override;
  std::optional<Json> checkpoint_metadata(const std::string &id) override;
  bool has_made_checkpoint(const std::string &id) override;
  bool withdraw_checkpoint(const std::string &id) override;
  bool reinstate_checkpoint(const std::string &id) override;
  void checkpoint_deleted(const std::string &id) override;

  void set_metadata(const Json &metadata) override;
  Json metadata() override;

  bool report_early_exit(const std::string &reason) override;
  std::optional<double> best_validation() override;

  void end_run(RunEnd how) override;

 private:
  std::string trial_name() const;
  SearchOperation read_operation();
  void record_completion(uint64_t length, const Json &metric);
  void await_decision();
  void end(RunExit how);
  RunExit judged_by_ranks();
  bool move_checkpoint(const std::string &id, std::string_view from, std::string_view to);

  std::mutex mutex_;  // guards the connection and what stands on it
  Database store_;
  ReportWriter writer_;
  StartedRun run_;
  const std::shared_ptr<Logger> log_;
  const std::filesystem::path store_directory_;
  const std::filesystem::path run_directory_;
  SignalWatch signals_;
  bool ended_ = false;
};

}  // namespace det
