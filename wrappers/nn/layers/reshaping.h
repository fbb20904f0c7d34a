// Layers that give their input another shape.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

class Flatten : public Layer {
 public:
  explicit Flatten(Fields &fields) : Layer(fields) { fields.only("data_format", "channels_last"); }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;
};

// To a shape of which one size may be -1: what is left over.
class ReshapeLayer : public Layer {
 public:
  explicit ReshapeLayer(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const Shape target_;  // without the batch
};

// The axes in another order; the batch, which is not counted, stays the first.
class Permute : public Layer {
 public:
  explicit Permute(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  std::vector<size_t> permutation_;  // with the batch
};

// (batch, features) to (batch, n, features).
class RepeatVector : public Layer {
 public:
  explicit RepeatVector(Fields &fields) : Layer(fields), times_(fields.integer("n")) {}

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const int64_t times_;
};

}  // namespace det::nn
