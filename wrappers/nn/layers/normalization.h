// Layers that take means off and divide by deviations.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// The weights gamma and beta, each where the layer has it.
class NormalizationLayer : public Layer {
 protected:
  explicit NormalizationLayer(Fields &fields);

  // Which of the axes of an input it is along. Throws Code::invalid where there is none.
  size_t axis_in(const Shape &shape) const;
  // x, and those of gamma and beta that there are.
  std::vector<Value> with_weights(ProgramBuilder &builder, Value x, int64_t size) const;

  const bool has_center_, has_scale_;
  const double epsilon_;

 private:
  const int64_t axis_;
  const WeightStyle gamma_, beta_;
};

// Frozen ("trainable": false) it takes the moving mean and variance in training as well.
class BatchNormalization : public NormalizationLayer {
 public:
  explicit BatchNormalization(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const double momentum_;
  const std::shared_ptr<const Initializer> mean_initializer_, variance_initializer_;
};

// Along the last axis.
class LayerNormalization : public NormalizationLayer {
 public:
  explicit LayerNormalization(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;
};

}  // namespace det::nn
