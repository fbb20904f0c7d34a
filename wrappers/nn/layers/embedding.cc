// Layers at the beginning of sequences: rows of a table, and which steps count.
#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/layers/layer_table.h"
#include "wrappers/nn/layers/merging.h"

namespace det::nn {

namespace {

// Whole numbers to rows of a table that is trained.
class Embedding : public Layer {
 public:
  explicit Embedding(Fields &fields)
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

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value table = weight(builder, "embeddings", {rows_, features_}, table_);
    const Value ids = only_input(call, name());
    const Value y = builder.add(EmbeddingOp{}, {ids, table});
    if (has_mask_) builder.set_mask(y, builder.add(FunctionOp{Function::differs, 0}, {ids}));
    return {y};
  }

 private:
  const int64_t rows_, features_;
  const bool has_mask_;  // 0 is no id: such steps do not count
  const WeightStyle table_;
};

// Steps do not count where all features are of one value.
class MaskingLayer : public Layer {
 public:
  explicit MaskingLayer(Fields &fields)
      : Layer(fields), value_(static_cast<float>(fields.number("mask_value", 0))) {
    set_masking(Masking::by_itself);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
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

 private:
  const float value_;
};

}  // namespace

LayerTable embedding_layers() {
  return {
      {"Embedding", making<Embedding>()},
      {"Masking", making<MaskingLayer>()},
  };
}

}  // namespace det::nn
