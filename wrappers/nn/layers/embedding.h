// Layers at the beginning of sequences: rows of a table, and which steps count.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// Whole numbers to rows of a table that is trained.
class Embedding : public Layer {
 public:
  explicit Embedding(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const int64_t rows_, features_;
  const bool has_mask_;  // 0 is no id: such steps do not count
  const WeightStyle table_;
};

// Steps do not count where all features are of one value.
class MaskingLayer : public Layer {
 public:
  explicit MaskingLayer(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const float value_;
};

// A mask of so many of its first axes: 1 where any of what is behind them counts.
Value any_of(ProgramBuilder &builder, Value mask, size_t axes);

}  // namespace det::nn
