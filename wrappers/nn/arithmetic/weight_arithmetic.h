// What optimizers do with weights, gradients and what they keep beside them. A back end whose
// arrays are far from the processor does it where they are.
#pragma once

#include <span>

#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/optimizers/update_rule.h"

namespace det::nn {

// Arrays are of F32; two of one call are of one size. A function that gives an answer waits for it;
// the others may return before their work is done, which Backend::synchronize() waits for. These
// here are loops on memory of the process, and done when they return.
class WeightArithmetic {
 public:
  virtual ~WeightArithmetic() = default;

  // One step of all weights. As many slots as the rule takes, each of as many elements.
  virtual void update(const UpdateRule &rule, const Array &weights, const Array &gradients,
                      std::span<float *const> slots);
  // Makes their norm so long where it is longer. A number that is none stays so: nothing hides it.
  virtual void shorten(const Array &values, double longest);
  // Says whether all are finite afterwards.
  virtual bool scale_and_check(const Array &values, float by);
  // Those beyond -to and to become these; NaN stays.
  virtual void limit(const Array &values, float to);
  // Takes this part off each.
  virtual void decay(const Array &values, float by);
  // Keeps this part of an average, and the rest becomes of the weights.
  virtual void follow(const Array &average, const Array &weights, float kept);
  virtual void copy(const Array &from, const Array &to);
  virtual void fill(const Array &to, float value);
};

// Those loops. It may be used by several threads at once.
WeightArithmetic &host_arithmetic();

}  // namespace det::nn
