// Some of what goes in left out while the model is trained.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// The rate of a layer that leaves out some of what it computes: from 0, the default, to below 1, as
// of what is left out for certain nothing would be learnt.
float rate_below_1(Fields &fields, const char *key);

// Along which axes elements are left out together: "noise_shape", which has 1 there.
class NoiseShape {
 public:
  explicit NoiseShape(Fields &fields);

  // Some of x left out, and the rest so much larger. Throws Code::invalid, naming the layer, where
  // x has other axes.
  Value leave_out(ProgramBuilder &builder, Value x, const DropoutOp &op,
                  const std::string &layer) const;

 private:
  std::optional<Shape> sizes_;  // `unknown` is that of x
};

}  // namespace det::nn
