// What a trial is asked to do, one workload after another.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/error.h"
#include "core/trial/workloads/workload.h"
#include "wrappers/keras/run/core_calls.h"

namespace det::keras {

using trial::Workload;

// Hyperparameters that cannot be trained: the search continues without them.
class InvalidHparams : public Error {
 public:
  explicit InvalidHparams(std::string why)
      : Error(Code::invalid, "the hyperparameters cannot be trained: " + why),
        why_(std::move(why)) {}
  const std::string &why() const { return why_; }

 private:
  std::string why_;
};

// Each workload is answered before the next is asked for; of several ranks by all of them in step.
class WorkloadSource {
 public:
  virtual ~WorkloadSource() = default;
  // Nothing: there is no more to do.
  virtual std::optional<Workload> next() = 0;
  // With what det_trial_sequencer_respond() takes.
  virtual void respond(const Json &response) = 0;
  // It ended with this.
  virtual void refuse(const InvalidHparams &refusal) = 0;
  // What belongs into a checkpoint, for load_state(); of the chief.
  virtual Json state() const { return Json::object(); }
  virtual void load_state(const Json & /*state*/) {}
  // How many batches a validation has at most, on each rank; none: as many as the trial says.
  virtual std::optional<int64_t> most_validation_batches() const { return {}; }
};

// As the search of a run and its configuration ask for them.
class SearchedWorkloads : public WorkloadSource {
 public:
  SearchedWorkloads(det_core *core, int64_t global_batch_size);

  std::optional<Workload> next() override;
  void respond(const Json &response) override;
  void refuse(const InvalidHparams & /*refusal*/) override { refuse(); }
  void refuse();
  Json state() const override;
  void load_state(const Json &state) override;

 private:
  Handle<det_trial_sequencer, det_trial_sequencer_free> sequencer_;
};

// One of each kind, of one batch.
class OneBatch : public WorkloadSource {
 public:
  std::optional<Workload> next() override;
  void respond(const Json & /*response*/) override { ++done_; }
  // There is no search that could try others.
  [[noreturn]] void refuse(const InvalidHparams &refusal) override { throw refusal; }
  std::optional<int64_t> most_validation_batches() const override { return 1; }

 private:
  int done_ = 0;
};

}  // namespace det::keras
