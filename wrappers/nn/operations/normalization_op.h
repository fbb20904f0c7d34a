// Values with their mean taken off, divided by their deviation.
#pragma once

#include "wrappers/nn/operations/operation_types.h"

namespace det::nn {

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, of each place along `axis` over all the
// rest: x, then where there are any gamma and beta, then the moving mean and the moving variance,
// each (sizes of the axis). While it is trained mean and variance are those of the batch, and
// forward() moves the two towards them: moving = moving * momentum + of the batch * (1 - momentum).
// Else they are what is taken. Behind those comes, where there is one, a mask of (batch, steps):
// what it leaves out with 0 has no part in the mean and the variance of the batch.
struct BatchNormalizationOp {
  size_t axis = 1;
  bool has_scale = true;
  bool has_center = true;
  bool is_training = false;
  // The moving variance is that of n / (n - 1), as Keras has it for images.
  bool is_unbiased = false;
  bool has_mask = false;
  float momentum = 0.99F;
  float epsilon = 1e-3F;

  // Where the moving mean is among the inputs; the moving variance is the next.
  size_t moving_mean() const { return 1U + (has_scale ? 1 : 0) + (has_center ? 1 : 0); }

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// The same of each row of the last axis by itself: x, then where there are any gamma and beta.
struct LayerNormalizationOp {
  bool has_scale = true;
  bool has_center = true;
  float epsilon = 1e-3F;

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
