#include "wrappers/nn/layers/embedding.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

Embedding::Embedding(Fields &fields)
    : Layer(fields),
      rows_(fields.positive_integer("input_dim")),
      features_(fields.positive_integer("output_dim")),
      has_mask_(fields.flag("mask_zero", false)),
      table_(fields, "embeddings", "random_uniform") {
  // Ids are not to be rounded, and rounding the rows that are taken is less than all of them.
  set_mixing(Mixing::results);
  read_activity_regularizer(fields);
  set_masking(Masking::by_itself);
  fields.any("input_length");
  fields.without_effect("sparse");
}

std::vector<Value> Embedding::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value table = weight(builder, "embeddings", {rows_, features_}, table_);
  const Value ids = only_input(call, name());
  const Value y = builder.add(EmbeddingOp{}, {ids, table});
  if (has_mask_) builder.set_mask(y, builder.add(FunctionOp{Function::differs, 0}, {ids}));
  return {y};
}

MaskingLayer::MaskingLayer(Fields &fields)
    : Layer(fields), value_(static_cast<float>(fields.number("mask_value", 0))) {
  set_masking(Masking::by_itself);
}

std::vector<Value> MaskingLayer::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = only_input(call, name());
  const Shape shape = builder.shape(x);
  if (shape.size() < 3)
    throw Error(Code::invalid, "calling the layer '" + name() + "' (Masking) with an input of " +
                                   text_of(shape) +
                                   ": it needs the axes batch, steps and features");
  const Value differs = builder.add(FunctionOp{Function::differs, value_}, {x});
  Shape steps = shape;
  steps.pop_back();
  const Value mask = any_of(builder, differs, steps.size());
  Shape single = steps;
  single.push_back(1);
  const Value counted = builder.add(BroadcastOp{shape}, {builder.add(ReshapeOp{single}, {mask})});
  const Value y = builder.add(ArithmeticOp{Arithmetic::multiply}, {x, counted});
  builder.set_mask(y, mask);
  return {y};
}

Value any_of(ProgramBuilder &builder, Value mask, size_t axes) {
  Shape left = builder.shape(mask);
  if (left.size() <= axes) return mask;
  const auto behind = left.begin() + static_cast<std::ptrdiff_t>(axes);
  const int64_t count = elements_of({behind, left.end()});
  left.erase(behind, left.end());
  const Value rows = builder.add(ReshapeOp{{elements_of(left), count}}, {mask});
  const Array ones({{count, 1}, Dtype::f32});
  std::fill_n(ones.data(), ones.size(), 1.0F);
  const Value sums = builder.add(DenseOp{}, {rows, builder.constant(ones)});
  return builder.add(ReshapeOp{left}, {builder.add(FunctionOp{Function::differs, 0}, {sums})});
}

}  // namespace det::nn
