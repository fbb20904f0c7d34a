#include "wrappers/nn/layers/embedding.h"

#include "core/base/error.h"

namespace det::nn {

Embedding::Embedding(Fields &fields)
    : Layer(fields),
      rows_(fields.integer("input_dim")),
      features_(fields.integer("output_dim")),
      table_(fields, "embeddings", "random_uniform") {
  fields.only_null("activity_regularizer");
  fields.only("mask_zero", false);
  fields.any("input_length");
  fields.without_effect("sparse");
  for (const auto &[key, size] : {std::pair("input_dim", rows_), {"output_dim", features_}})
    if (size < 1)
      throw Error(Code::invalid, "reading " + fields.where() + ": '" + key + "' is " +
                                     std::to_string(size) + ", and must be at least 1");
}

std::vector<Value> Embedding::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value table = weight(builder, "embeddings", {rows_, features_}, table_);
  return {builder.add(EmbeddingOp{}, {only_input(call, name()), table})};
}

}  // namespace det::nn
