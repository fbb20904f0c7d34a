// A live run of a store as its master.
#pragma once

#include "core/engine/runs/live_run.h"
#include "core/master/master.h"

namespace det::master {

class EmbeddedTrial : public Master {
 public:
  explicit EmbeddedTrial(std::unique_ptr<engine::LiveRun> run) : run_(std::move(run)) {}

  const engine::RunInfo &info() const override { return run_->info(); }
  void begin_from(const engine::CheckpointEntry &latest) override { run_->begin_from(latest); }
  std::filesystem::path run_directory() const override { return run_->directory(); }
  std::string journal_id() const override { return run_->journal_id(); }
  std::filesystem::path trace_file() const override { return run_->trace_file(); }

  Delivery deliver(const JournalKey &journal, std::span<const Report> reports) override {
    return run_->deliver(journal, reports);
  }

  void make_durable() override { run_->make_durable(); }
  bool wait_preemption(const Wake &wake) override { return run_->wait_signal(wake); }
  void note_preemption(const std::string &reason) override { run_->note_signal(reason); }
  void acknowledge_preemption() override { run_->acknowledge_signal(); }

  engine::SearchOperation current_operation() override { return run_->current_operation(); }
  void complete_operation(uint64_t length, const Json &metric) override {
    run_->complete_operation(length, metric);
  }
  void acknowledge_out_of_operations() override { run_->acknowledge_out_of_operations(); }

  void report_checkpoint(const engine::CheckpointReport &report) override {
    run_->report_checkpoint(report);
  }
  bool knows_checkpoint(const std::string &id) override { return run_->knows_checkpoint(id); }
  std::vector<engine::CheckpointEntry> checkpoints() override { return run_->checkpoints(); }
  std::optional<Json> checkpoint_metadata(const std::string &id) override {
    return run_->checkpoint_metadata(id);
  }
  std::optional<Json> checkpoint_storage(const std::string &id) override {
    return run_->checkpoint_storage(id);
  }
  bool has_made_checkpoint(const std::string &id) override { return run_->has_made_checkpoint(id); }
  bool withdraw_checkpoint(const std::string &id) override { return run_->withdraw_checkpoint(id); }
  bool reinstate_checkpoint(const std::string &id) override {
    return run_->reinstate_checkpoint(id);
  }
  void checkpoint_deleted(const std::string &id) override { run_->checkpoint_deleted(id); }

  std::vector<engine::WithdrawnCheckpoint> withdraw_superseded(
      const std::set<std::string> &held) override {
    return run_->withdraw_superseded(held);
  }

  void set_metadata(const Json &metadata) override { run_->set_metadata(metadata); }
  Json metadata() override { return run_->metadata(); }

  bool report_early_exit(const std::string &reason) override {
    return run_->report_early_exit(reason);
  }
  std::optional<double> best_validation() override { return run_->best_validation(); }
  std::optional<int64_t> last_validation() override { return run_->last_validation(); }

  void end_run(RunEnd how) override {
    run_->end(how == RunEnd::ok           ? engine::RunExit::ok
              : how == RunEnd::invalid_hp ? engine::RunExit::invalid_hp
                                          : engine::RunExit::error);
  }

 private:
  const std::unique_ptr<engine::LiveRun> run_;
};

}  // namespace det::master
