// Small gradients are lost in float16: the loss is made larger by a factor, and the gradients are
// divided by it before anything is done with them.
#pragma once

#include "wrappers/nn/array.h"
#include "wrappers/nn/keras_fields.h"

namespace det::nn {

class WeightArithmetic;

// A fixed factor, or one that finds its size: it is halved, and the step skipped, where gradients
// are not finite, and doubled after so many steps in which they were.
class LossScale {
 public:
  // What changes as it is used, and a checkpoint keeps.
  struct State {
    float scale = 0x1p15F;
    int64_t good_steps = 0;  // since the scale was changed
  };

  // As Keras takes it under mixed_float16.
  LossScale() = default;
  // The fields of Keras' LossScaleOptimizer beside the optimizer. Throws Code::invalid.
  explicit LossScale(Fields &fields);

  const State &state() const { return state_; }
  // What is fixed stays as it is.
  void set_state(const State &state) {
    if (growth_steps_ > 0) state_ = state;
  }

  // Divides gradients by it. Says whether they are to be applied: where several ranks train, all
  // say the same of the same gradients.
  bool unscale(const Array &gradients, WeightArithmetic &arithmetic);

 private:
  void follow(bool is_finite);

  State state_;
  int64_t growth_steps_ = 2000;  // 0: the scale is fixed
};

}  // namespace det::nn
