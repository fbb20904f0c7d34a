#pragma once

#include "wrappers/nn/initializers/initializer.h"

namespace det::nn {

// A matrix, of all but the last axis by the last, whose shorter side are vectors at right angles,
// `gain` long: it keeps the length of what it is multiplied with, as recurrent layers want it.
class Orthogonal : public Initializer {
 public:
  explicit Orthogonal(double gain) : gain_(gain) {}
  // Throws Code::invalid for a vector.
  void fill(std::span<float> values, const Shape &shape, RandomStream &random) const override;

 private:
  const double gain_;
};

}  // namespace det::nn
