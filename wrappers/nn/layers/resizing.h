// Images and sequences made larger or smaller, and other values.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// Zeros put around, or edges cut off, of one or two spatial dimensions.
class EdgesLayer : public Layer {
 public:
  enum class Kind { zero_padding, cropping };

  EdgesLayer(Fields &fields, Kind kind, size_t dimensions);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  Shape before_, after_;  // of all axes; below zero is cut off
};

// Each step or pixel repeated, or pixels between them that are made of those around them.
class UpSampling : public Layer {
 public:
  UpSampling(Fields &fields, size_t dimensions);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const Shape size_;
  bool is_bilinear_ = false;
};

// x * scale + offset, each a number or several for the places of the last axis.
class Rescaling : public Layer {
 public:
  explicit Rescaling(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const std::vector<float> scale_, offset_;
};

}  // namespace det::nn
