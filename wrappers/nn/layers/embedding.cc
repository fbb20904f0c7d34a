#include "wrappers/nn/layers/embedding.h"

namespace det::nn {

Embedding::Embedding(Fields &fields)
    : Layer(fields),
      rows_(fields.positive_integer("input_dim")),
      features_(fields.positive_integer("output_dim")),
      table_(fields, "embeddings", "random_uniform") {
  // Ids are not to be rounded, and rounding the rows that are taken is less than all of them.
  set_mixing(Mixing::results);
  read_activity_regularizer(fields);
  fields.only("mask_zero", false);
  fields.any("input_length");
  fields.without_effect("sparse");
}

std::vector<Value> Embedding::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value table = weight(builder, "embeddings", {rows_, features_}, table_);
  return {builder.add(EmbeddingOp{}, {only_input(call, name()), table})};
}

}  // namespace det::nn
