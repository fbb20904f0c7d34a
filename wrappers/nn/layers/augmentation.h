// Images changed by chance while a model is trained: Keras' RandomFlip, RandomRotation and
// RandomZoom.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

class RandomImageLayer : public Layer {
 public:
  RandomImageLayer(Fields &fields, RandomImageOp::Change change);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  RandomImageOp op_;
};

}  // namespace det::nn
