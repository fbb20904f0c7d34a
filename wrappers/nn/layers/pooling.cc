// The largest or the mean of parts of images and sequences.
#include <algorithm>

#include "wrappers/nn/layers/layer_table.h"
#include "wrappers/nn/layers/window_fields.h"
#include "wrappers/nn/operations/operations.h"

namespace det::nn {

namespace {

class PoolingLayer : public Layer {
 public:
  PoolingLayer(Fields &fields, Pooling pooling, size_t dimensions)
      : Layer(fields), pooling_(pooling), window_(WindowFields::of_pool(fields, dimensions)) {}

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = as_image(builder, only_input(call, name()), window_.dimensions(), name());
    const PoolingOp op{pooling_, window_.over(builder.shape(x))};
    return {from_image(builder, builder.add(op, {x}), window_.dimensions())};
  }

 private:
  const Pooling pooling_;
  const WindowFields window_;
};

// Of all there is of each channel.
class GlobalPoolingLayer : public Layer {
 public:
  GlobalPoolingLayer(Fields &fields, Pooling pooling, size_t dimensions)
      : Layer(fields),
        pooling_(pooling),
        dimensions_(dimensions),
        keeps_dimensions_(fields.flag("keepdims", false)) {
    fields.only("data_format", "channels_last");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const auto mask = builder.mask(only_input(call, name()));
    if (mask && dimensions_ == 1 && pooling_ == Pooling::average)
      return {mean_of_counted(builder, call.inputs[0], *mask)};
    const Value x = as_image(builder, only_input(call, name()), dimensions_, name());
    const Shape shape = builder.shape(x);
    PoolingOp op{pooling_, {}};
    op.window.size = {shape[1], shape[2]};
    const Value y = builder.add(op, {x});
    if (keeps_dimensions_) return {from_image(builder, y, dimensions_)};
    return {builder.add(ReshapeOp{{shape[0], shape[3]}}, {y})};
  }

 private:
  // Of the steps that count.
  Value mean_of_counted(ProgramBuilder &builder, Value x, Value mask) const {
    const Shape shape = builder.shape(x);
    const Value steps = builder.add(ReshapeOp{{shape[0], 1, shape[1]}}, {mask});
    const Value sums = builder.add(BatchedMatMulOp{}, {steps, x});
    const Array ones({{shape[1], shape[2]}, Dtype::f32});
    std::fill_n(ones.data(), ones.size(), 1.0F);
    const Value counts = builder.add(DenseOp{}, {steps, builder.constant(ones)});
    const Value inverse = builder.add(FunctionOp{Function::power, -1}, {counts});
    const Value mean = builder.add(ArithmeticOp{Arithmetic::multiply}, {sums, inverse});
    return keeps_dimensions_ ? mean : builder.add(ReshapeOp{{shape[0], shape[2]}}, {mean});
  }

  const Pooling pooling_;
  const size_t dimensions_;
  const bool keeps_dimensions_;
};

}  // namespace

LayerTable pooling_layers() {
  return {
      {"AveragePooling1D", making<PoolingLayer>(Pooling::average, size_t{1})},
      {"AveragePooling2D", making<PoolingLayer>(Pooling::average, size_t{2})},
      {"GlobalAveragePooling1D", making<GlobalPoolingLayer>(Pooling::average, size_t{1})},
      {"GlobalAveragePooling2D", making<GlobalPoolingLayer>(Pooling::average, size_t{2})},
      {"GlobalMaxPooling1D", making<GlobalPoolingLayer>(Pooling::max, size_t{1})},
      {"GlobalMaxPooling2D", making<GlobalPoolingLayer>(Pooling::max, size_t{2})},
      {"MaxPooling1D", making<PoolingLayer>(Pooling::max, size_t{1})},
      {"MaxPooling2D", making<PoolingLayer>(Pooling::max, size_t{2})},
  };
}

}  // namespace det::nn
