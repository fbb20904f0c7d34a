// Layers around other layers.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// The same layer for each step of a sequence, with the same weights.
class TimeDistributed : public Layer {
 public:
  explicit TimeDistributed(Fields &fields);

  bool computes_in(Dtype dtype) const override { return layer_->computes_in(dtype); }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const std::shared_ptr<Layer> layer_;
};

// A recurrent layer from the first step to the last, and another from the last to the first.
class Bidirectional : public Layer {
 public:
  explicit Bidirectional(Fields &fields);

  bool computes_in(Dtype dtype) const override {
    return forward_->computes_in(dtype) || backward_->computes_in(dtype);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  std::vector<Value> merged_directions(ProgramBuilder &builder, Value forward,
                                       Value backward) const;

  enum class Merge { none, concatenate, sum, multiply, average };

  std::shared_ptr<Layer> forward_, backward_;
  bool returns_sequences_ = false;
  Merge merge_ = Merge::concatenate;
};

}  // namespace det::nn
