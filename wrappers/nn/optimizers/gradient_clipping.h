// Gradients that are too large are made smaller before they are applied.
#pragma once

#include <optional>

#include "wrappers/nn/keras_fields.h"
#include "wrappers/nn/weights.h"

namespace det::nn {

class WeightArithmetic;

class GradientClipping {
 public:
  // "clipnorm", "clipvalue", "global_clipnorm": one of them, or none. Throws Code::invalid.
  explicit GradientClipping(Fields &fields);

  void clip(const Weights &weights, WeightArithmetic &arithmetic) const;

 private:
  std::optional<double> norm_;         // of each weight
  std::optional<double> global_norm_;  // of all of them together
  std::optional<double> value_;        // of each element
};

}  // namespace det::nn
