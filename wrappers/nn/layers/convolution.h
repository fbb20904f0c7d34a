// Convolutions of one and two spatial dimensions.
#pragma once

#include "wrappers/nn/layers/activation_layers.h"
#include "wrappers/nn/layers/window_fields.h"

namespace det::nn {

// What all of them do, with the names of their weights' fields.
class ConvolutionLayer : public Layer {
 protected:
  ConvolutionLayer(Fields &fields, size_t dimensions, const std::string &kernel);

  // Of an input with so many channels: the kernel's last two sizes, and its groups.
  struct Channels {
    int64_t in_group;
    int64_t out;
    int64_t groups;
    Shape kernel;  // the last two sizes of the weight, as Keras has it
  };
  virtual Channels channels_of(int64_t in) const = 0;
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const WindowFields window_;
  const NamedActivation activation_;
  const bool has_bias_;
  const std::string kernel_name_;
  const WeightStyle kernel_, bias_;
};

// Conv1D and Conv2D.
class Convolution : public ConvolutionLayer {
 public:
  Convolution(Fields &fields, size_t dimensions);

 protected:
  Channels channels_of(int64_t in) const override;

 private:
  const int64_t filters_, groups_;
};

// Each channel by itself, into `depth_multiplier` of them.
class DepthwiseConvolution : public ConvolutionLayer {
 public:
  DepthwiseConvolution(Fields &fields, size_t dimensions);

 protected:
  Channels channels_of(int64_t in) const override;

 private:
  const int64_t depth_multiplier_;
};

// Each channel by itself, and then all of them at each place by a kernel of one pixel.
class SeparableConvolution : public Layer {
 public:
  SeparableConvolution(Fields &fields, size_t dimensions);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const WindowFields window_;
  const NamedActivation activation_;
  const bool has_bias_;
  const int64_t filters_, depth_multiplier_;
  const WeightStyle depthwise_, pointwise_, bias_;
};

}  // namespace det::nn
