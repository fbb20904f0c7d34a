// Convolutions the other way round: each pixel becomes a window of the result, Keras'
// Conv2DTranspose.
#pragma once

#include "wrappers/nn/layers/activation_layers.h"
#include "wrappers/nn/layers/window_fields.h"

namespace det::nn {

class TransposedConvolution : public Layer {
 public:
  TransposedConvolution(Fields &fields, size_t dimensions);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  // Of one dimension of the result: how long it is, and how much of all windows is before it.
  struct Kept {
    int64_t size, before;
  };
  Kept kept(const Window &window, size_t dimension, int64_t in) const;
  // All windows added up, from where the first begins; behind the last there may be zeros.
  Value whole(ProgramBuilder &builder, Value x, Value kernel, const Window &window) const;

  const WindowFields window_;
  const NamedActivation activation_;
  const bool has_bias_;
  const int64_t filters_;
  std::optional<Window::Sizes> output_padding_;
  const WeightStyle kernel_, bias_;
};

}  // namespace det::nn
