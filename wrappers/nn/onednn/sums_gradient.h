// What comes back through an activation that is part of another operation.
#pragma once

#include "wrappers/nn/arithmetic/activation.h"
#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/onednn/onednn_primitive.h"

namespace det::nn {

// The gradient of what the activation was applied to: of the sums of products.
class SumsGradient {
 public:
  // `y` is what came out, `dy` its gradient; without `is_wanted` nothing is ever asked for. Of relu
  // it takes the place of `dy`: that is as good there, also where it is found twice.
  SumsGradient(Activation activation, const Array &y, const Array &dy, bool is_wanted,
               const OnednnContext &context);

  // With what is in `y` and `dy` now.
  void find() const;
  // Where it is.
  const Array &array() const { return sums_; }

 private:
  const Activation activation_;
  const Array y_, dy_, sums_;
  const size_t shares_;
};

}  // namespace det::nn
