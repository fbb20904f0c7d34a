#pragma once

#include "wrappers/nn/layers/activation_layers.h"
#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// activation(x . kernel + bias), over the last axis.
class Dense : public Layer {
 public:
  explicit Dense(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const int64_t units_;
  const NamedActivation activation_;
  const bool has_bias_;
  const WeightStyle kernel_, bias_;
};

}  // namespace det::nn
