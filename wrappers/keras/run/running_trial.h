// A trial while it runs: its run, what that says of it, and whether it is to stop.
#pragma once

#include <optional>
#include <string>

#include "core/trial/rules/batch_sizes.h"
#include "wrappers/keras/run/trial_run.h"

namespace det::keras {

class Trial {
 public:
  // `kind` is told in errors and in checkpoints. Throws Code::invalid where the batch cannot be
  // divided among the ranks.
  Trial(det_core *core, std::string kind);
  // Of a run that nothing is kept of.
  Trial(TrialRun run, std::string kind);

  det_core *core() const { return core_; }
  const det_info *info() const { return det_core_info(core_); }
  det_distributed_context *job() const { return det_core_distributed(core_); }
  int rank() const { return det_distributed_rank(job()); }
  int ranks() const { return det_distributed_size(job()); }
  const std::string &kind() const { return kind_; }
  const Json &config() const { return config_; }
  const trial::BatchSizes &sizes() const { return sizes_; }
  bool is_unkept() const { return run_.has_value(); }

  // A section of the configuration without nulls, which are as left out; empty where there is none.
  Json section(const char *name) const;

  // The mean over the ranks, all in step. What is no number is the same on all of them.
  Json averaged(const Json &metrics) const;
  // The same of a training, unless the configuration's `optimizations` want the chief's.
  Json averaged_of_training(const Json &metrics) const;

  // The trial ends after the workload, with a checkpoint.
  bool stop_requested = false;

 private:
  std::optional<TrialRun> run_;
  det_core *core_;
  std::string kind_;
  Json config_;
  trial::BatchSizes sizes_;
};

}  // namespace det::keras
