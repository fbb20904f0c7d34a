// Functions of TensorFlow that were called on the results of layers.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// Keras' TFOpLambda and SlicingOpLambda: arithmetic, functions of each element, means and sums, and
// what only arranges elements. The arguments are those of the call.
class FunctionLayer : public Layer {
 public:
  explicit FunctionLayer(Fields &fields);

  // Beside the options of a call: the first argument, where it is a number.
  static constexpr const char *constant_argument = "_CONSTANT_VALUE";

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const std::string function_;
};

}  // namespace det::nn
