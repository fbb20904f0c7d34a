// Numbers of known mean and variance made to be of mean 0 and variance 1, or the inverse of that:
// Keras' Normalization.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// For each place along its axes by itself. Without a mean and a variance of its own these are
// weights that are not trained, and beside them the count of what they are the moments of.
class Standardization : public Layer {
 public:
  explicit Standardization(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  Value standardized(ProgramBuilder &builder, Value x, Value mean, Value variance) const;
  Value inverted(ProgramBuilder &builder, Value x, Value mean, Value variance) const;

  const Shape axes_;
  const bool is_inverse_;
  std::vector<float> mean_, variance_;  // empty: weights; of one number: the same everywhere
};

}  // namespace det::nn
