#include "wrappers/nn/layers/pooling.h"

#include <algorithm>

namespace det::nn {

std::vector<Value> PoolingLayer::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = as_image(builder, only_input(call, name()), window_.dimensions(), name());
  const PoolingOp op{pooling_, window_.over(builder.shape(x))};
  return {from_image(builder, builder.add(op, {x}), window_.dimensions())};
}

GlobalPoolingLayer::GlobalPoolingLayer(Fields &fields, Pooling pooling, size_t dimensions)
    : Layer(fields),
      pooling_(pooling),
      dimensions_(dimensions),
      keeps_dimensions_(fields.flag("keepdims", false)) {
  fields.only("data_format", "channels_last");
}

// Of the steps that count.
Value GlobalPoolingLayer::mean_of_counted(ProgramBuilder &builder, Value x, Value mask) const {
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

std::vector<Value> GlobalPoolingLayer::compute(ProgramBuilder &builder,
                                               const LayerCall &call) const {
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

}  // namespace det::nn
