// The master of a rank that cannot reach the store of its chief.
#pragma once

#include "core/base/error.h"
#include "core/master/master.h"

namespace det::master {

class UnreachableMaster : public Master {
 public:
  // `why` as unreachable() gives it.
  UnreachableMaster(engine::RunInfo info, std::string why)
      : info_(std::move(info)), why_(std::move(why)) {}

  const engine::RunInfo &info() const override { return info_; }
  void begin_from(const engine::CheckpointEntry &latest) override {
    info_.latest_checkpoint = latest.id;
    info_.steps_completed = latest.steps;
  }
  std::string unreachable() const override { return why_; }

  std::filesystem::path run_directory() const override { refuse(); }
  std::string journal_id() const override { refuse(); }
  Delivery deliver(const JournalKey &, std::span<const Report>) override { refuse(); }
  bool wait_preemption(const Wake &) override { refuse(); }
  void note_preemption(const std::string &) override { refuse(); }
  void acknowledge_preemption() override { refuse(); }
  engine::SearchOperation current_operation() override { refuse(); }
  void complete_operation(uint64_t, const Json &) override { refuse(); }
  void acknowledge_out_of_operations() override { refuse(); }
  void report_checkpoint(const engine::CheckpointReport &) override { refuse(); }
  bool knows_checkpoint(const std::string &) override { refuse(); }
  std::vector<engine::CheckpointEntry> checkpoints() override { refuse(); }
  // The storage, which every rank can reach, has a copy.
  std::optional<Json> checkpoint_metadata(const std::string &) override { return std::nullopt; }
  bool has_made_checkpoint(const std::string &) override { return false; }
  bool withdraw_checkpoint(const std::string &) override { refuse(); }
  bool reinstate_checkpoint(const std::string &) override { refuse(); }
  void checkpoint_deleted(const std::string &) override { refuse(); }
  void set_metadata(const Json &) override { refuse(); }
  Json metadata() override { refuse(); }
  bool report_early_exit(const std::string &) override { refuse(); }
  std::optional<double> best_validation() override { refuse(); }
  void end_run(RunEnd) override {}

 private:
  [[noreturn]] void refuse() const { throw Error(Code::unsupported, why_); }

  engine::RunInfo info_;
  const std::string why_;
};

}  // namespace det::master
