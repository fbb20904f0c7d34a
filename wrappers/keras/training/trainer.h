// Trains a trial of any kind, workload by workload.
#pragma once

#include <functional>
#include <optional>

#include "wrappers/keras/checkpoints/trial_files.h"
#include "wrappers/keras/run/workload_source.h"
#include "wrappers/keras/training/ranks_in_step.h"

namespace det::keras {

// What a kind of trial does in its workloads. Every rank has one, and all are called in step.
class Loop {
 public:
  struct Names {
    std::string format;  // in the metadata of checkpoints
    ModelFiles files;
  };
  struct Trained {
    Json each;      // of each batch, of this rank
    Json averages;  // of all ranks
  };
  struct Validated {
    int64_t batches = 0;
    Json metrics;  // of all ranks
  };
  // A directory, where training continues from a checkpoint.
  using Checkpoint = std::optional<std::filesystem::path>;

  virtual ~Loop() = default;
  virtual const Names &names() const = 0;
  // Gives the compiled model, into which the weights of the checkpoint are then read.
  virtual det_nn_model &begin(const Checkpoint &checkpoint) = 0;
  // Once it has them.
  virtual void start(RanksInStep &ranks, const Checkpoint &checkpoint) = 0;
  virtual Trained train(int64_t batches) = 0;
  virtual Validated validate(std::optional<int64_t> most) = 0;
  // Of the chief: what a checkpoint has beside the model.
  virtual void save(const std::filesystem::path &directory) = 0;
  // However the training ends.
  virtual void end(bool has_failed) = 0;
};

// Throws Code::invalid where a validation of this rank had no batch.
void check_validation(const Trial &trial, int64_t batches);

// Until there are no more workloads.
void do_workloads(Trial &trial, Loop &loop, WorkloadSource &workloads);

// Makes the loop of a trial, does all workloads that the search asks for, and closes the run with
// its outcome. Failures are thrown; of several ranks standard error has them then.
using MakeLoop = std::function<std::unique_ptr<Loop>()>;
void train_to_end(Trial &trial, const MakeLoop &make_loop);

}  // namespace det::keras
