// One step of a model on a batch that is loaded: whole, or it has not been.
#pragma once

#include <functional>

#include "wrappers/nn/model/training.h"

namespace det::nn {

// Told of each trained weight as its gradient is complete, while others are still computed, and
// then asked whether they are to be applied: where ranks add gradients up.
struct GradientObserver {
  std::function<void(size_t weight)> on_gradient;
  std::function<bool()> on_step;
};

// All that it is made of outlives it.
class TrainingStep {
 public:
  TrainingStep(const Graph &graph, Weights &weights, StepState &state, Backend &backend,
               const Training &training)
      : graph_(graph), weights_(weights), state_(state), backend_(backend), training_(training) {}

  // Says whether the gradients are to be applied. Counts the step. Throws what went wrong, and what
  // check() throws: then nothing has changed.
  bool compute_gradients(Plan &plan, const GradientObserver &observer);
  // Throws Code::invalid where the model was compiled to look for numbers that are not finite and
  // `plan` has computed some, and where a metric cannot be told of what it has computed.
  void check(const Plan &plan) const;

 private:
  // Waits for what a step that has failed may still be doing. False where the device has failed,
  // whose memory cannot be reached.
  bool rests() const;
  void check_numerics(const Plan &plan) const;
  // What was the first in the batch of `plan` that is not finite: an input, a weight, or what a
  // layer gives, forward or backward. It is computed anew, by plain loops; what that changes of the
  // weights that are not trained and of the gradients is the caller's to give back.
  std::string find_not_finite(const Plan &plan, float loss_scale) const;

  const Graph &graph_;
  Weights &weights_;
  StepState &state_;
  Backend &backend_;
  const Training &training_;
};

}  // namespace det::nn
