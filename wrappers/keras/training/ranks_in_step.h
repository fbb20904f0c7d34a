// A model that several ranks train: first weights of rank 0, and gradients of all.
#pragma once

#include <det/trial_gradients.h>

#include <span>
#include <vector>

#include "wrappers/keras/run/core_calls.h"
#include "wrappers/nn/capi/model_handle.h"

namespace det::keras {

// Adds up the gradients of a model as they come. The model outlives it, and both stay where they
// are.
class RanksInStep {
 public:
  // All ranks in step. `optimizations` is that section of a configuration. One rank that applies
  // each batch has nothing to add up.
  RanksInStep(det_distributed_context *job, det_nn_model &model, const Json &optimizations);
  ~RanksInStep();
  RanksInStep(const RanksInStep &) = delete;
  RanksInStep &operator=(const RanksInStep &) = delete;

  void train_on_batch(const nn::Batch &batch) { model_.train_on_batch(batch); }

  // Gives a model on all ranks the weights of the chief that are not trained, such as the means of
  // a batch normalization, which follow from what each rank has seen: they are what checkpoints
  // have, so that validations after a restart are as if there was none. All ranks in step.
  void share_untrained(det_nn_model &model) const;

 private:
  void place_gradients();

  det_distributed_context *const job_;
  det_nn_model &model_;
  bool is_placed_ = false;
  std::vector<size_t> places_;  // of each weight among those that are trained
  Handle<det_trial_gradients, det_trial_gradients_free> gradients_;
};

}  // namespace det::keras
