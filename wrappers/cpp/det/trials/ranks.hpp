// A model that several ranks train, with the first weights of rank 0 and the gradients of all.
#pragma once

#include <det/keras.h>
#include <det/core.hpp>
#include <det/nn.hpp>

namespace det {
inline namespace v1 {
namespace trials {

class Ranks {
 public:
  // All ranks in step. The model must be compiled, have weights and outlive it. `optimizations` is
  // that section of a configuration.
  Ranks(const DistributedView &job, const nn::Model &model, const Json &optimizations = {},
        OnFailure on = {}) {
    detail::call(on, det_keras_ranks_create, job.capi(), model.capi(), optimizations.capi(),
                 &ranks_);
    owned_.reset(ranks_);
  }
  // The ranks of a trial.
  explicit Ranks(det_keras_ranks *lent) noexcept : ranks_(lent) {}

  // Trains the model of the constructor.
  void train_on_batch(const nn::Batch &batch, OnFailure on = {}) const {
    const nn::detail::LentBatch given(batch);
    detail::call(on, det_keras_ranks_train_on_batch, ranks_, &given.capi());
  }
  // Gives a model on all ranks the chief's weights that are not trained. All ranks in step.
  void share_untrained(const nn::Model &model, OnFailure on = {}) const {
    detail::call(on, det_keras_ranks_share_untrained, ranks_, model.capi());
  }

 private:
  det_keras_ranks *ranks_ = nullptr;
  detail::Handle<det_keras_ranks, det_keras_ranks_free> owned_;
};

}  // namespace trials
}  // namespace v1
}  // namespace det
