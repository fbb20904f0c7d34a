// The largest or the mean of parts of images and sequences.
#pragma once

#include "wrappers/nn/layers/window_fields.h"
#include "wrappers/nn/operations/pooling_op.h"

namespace det::nn {

class PoolingLayer : public Layer {
 public:
  PoolingLayer(Fields &fields, Pooling pooling, size_t dimensions)
      : Layer(fields), pooling_(pooling), window_(WindowFields::of_pool(fields, dimensions)) {}

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const Pooling pooling_;
  const WindowFields window_;
};

// Of all there is of each channel.
class GlobalPoolingLayer : public Layer {
 public:
  GlobalPoolingLayer(Fields &fields, Pooling pooling, size_t dimensions);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  Value mean_of_counted(ProgramBuilder &builder, Value x, Value mask) const;

  const Pooling pooling_;
  const size_t dimensions_;
  const bool keeps_dimensions_;
};

}  // namespace det::nn
