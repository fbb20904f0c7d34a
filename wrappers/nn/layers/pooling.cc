#include "wrappers/nn/layers/pooling.h"

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

std::vector<Value> GlobalPoolingLayer::compute(ProgramBuilder &builder,
                                               const LayerCall &call) const {
  const Value x = as_image(builder, only_input(call, name()), dimensions_, name());
  const Shape shape = builder.shape(x);
  PoolingOp op{pooling_, {}};
  op.window.size = {shape[1], shape[2]};
  const Value y = builder.add(op, {x});
  if (keeps_dimensions_) return {from_image(builder, y, dimensions_)};
  return {builder.add(ReshapeOp{{shape[0], shape[3]}}, {y})};
}

}  // namespace det::nn
