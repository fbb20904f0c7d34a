#include <cmath>
#include <optional>

#include "core/base/error.h"
#include "wrappers/nn/layers/dropout.h"
#include "wrappers/nn/layers/layer_table.h"

namespace det::nn {

namespace {

int64_t value_size_of(Fields &fields, int64_t key_size) {
  if (fields.has("value_dim")) return fields.positive_integer("value_dim");
  fields.any("value_dim");
  return key_size;
}

bool is_set(const LayerCall &call, const char *option) {
  return call.options.value(option, Json(false)) == Json(true);
}

// Called with the query, and with "value" and, if it is another array, "key"; with "attention_mask"
// and "use_causal_mask" where something is not to be seen.
class MultiHeadAttention : public Layer {
 public:
  explicit MultiHeadAttention(Fields &fields)
      : Layer(fields),
        heads_(fields.positive_integer("num_heads")),
        key_size_(fields.positive_integer("key_dim")),
        value_size_(value_size_of(fields, key_size_)),
        has_bias_(fields.flag("use_bias", true)),
        dropout_(rate_below_1(fields, "dropout")),
        kernel_(fields, "kernel", "glorot_uniform"),
        bias_(fields, "bias", "zeros") {
    set_masking(Masking::by_itself);
    read_activity_regularizer(fields);
    if (fields.has("attention_axes")) fields.only("attention_axes", Json::array({1}));
    else fields.any("attention_axes");
    if (fields.has("output_shape")) output_features_ = fields.integers("output_shape", 1).at(0);
    else fields.any("output_shape");
    for (const char *key : {"query_shape", "key_shape", "value_shape"}) fields.without_effect(key);
    if (output_features_.value_or(1) < 1)
      throw Error(Code::invalid,
                  "reading " + fields.where() + ": 'output_shape' must be 1 or more");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const std::string calling = "calling the layer '" + name() + "' (MultiHeadAttention)";
    std::map<std::string, Value> given = call.named;
    const std::vector<std::string> in_order{"query", "value", "key", "attention_mask"};
    for (size_t i = 0; i < call.inputs.size() && i < in_order.size(); ++i)
      given.emplace(in_order[i], call.inputs[i]);
    if (call.inputs.size() > in_order.size() || given.count("query") == 0 ||
        given.count("value") == 0)
      throw Error(Code::invalid, calling +
                                     ": it takes a query and a value, and may take a key and "
                                     "an attention_mask");
    const Value query = given.at("query");
    const Value value = given.at("value");
    const Value key = given.count("key") > 0 ? given.at("key") : value;
    LayerCall masks{{}, given, call.options};

    const Value queries = project(builder, "query", query, key_size_);
    const Value keys = project(builder, "key", key, key_size_);
    const Value values = project(builder, "value", value, value_size_);
    const float scale = 1 / std::sqrt(static_cast<float>(key_size_));
    const Value scores = builder.add(
        SoftmaxOp{},
        {masked(builder, builder.add(BatchedMatMulOp{false, true, scale}, {queries, keys}),
                masks)});
    const Value attended = builder.add(BatchedMatMulOp{}, {dropped(builder, scores, call), values});
    const Value joined =
        join(builder, attended, output_features_.value_or(builder.shape(query).back()));
    if (const auto mask = builder.mask(query)) builder.set_mask(joined, *mask);
    if (is_set(call, "return_attention_scores")) return {joined, scores};
    return {joined};
  }

 private:
  // From (batch, steps, features) to (batch, heads, steps, size).
  Value project(ProgramBuilder &builder, const char *which, Value x, int64_t size) const {
    const Shape shape = builder.shape(x);
    if (shape.size() != 3)
      throw Error(Code::invalid, "calling the layer '" + name() + "' (MultiHeadAttention): the " +
                                     which + " has the shape " + text_of(shape) +
                                     "; it needs the axes batch, steps and features");
    const std::string path = std::string(which) + "/";
    const int64_t width = elements_of({heads_, size});
    const Value kernel = weight(builder, path + "kernel", {shape[2], heads_, size}, kernel_);
    std::vector<Value> inputs{x, builder.add(ReshapeOp{{shape[2], width}}, {kernel})};
    if (has_bias_) {
      const Value bias = weight(builder, path + "bias", {heads_, size}, bias_);
      inputs.push_back(builder.add(ReshapeOp{{width}}, {bias}));
    }
    const Value projected = builder.add(DenseOp{}, inputs);
    const Value split = builder.add(ReshapeOp{{shape[0], shape[1], heads_, size}}, {projected});
    return builder.add(TransposeOp{{0, 2, 1, 3}}, {split});
  }
  // Back to (batch, steps, features).
  Value join(ProgramBuilder &builder, Value heads, int64_t features) const {
    const Value together = builder.add(TransposeOp{{0, 2, 1, 3}}, {heads});
    const Shape shape = builder.shape(together);
    const int64_t size = elements_of({heads_, shape[3]});
    const Value kernel =
        weight(builder, "attention_output/kernel", {heads_, shape[3], features}, kernel_);
    std::vector<Value> inputs{builder.add(ReshapeOp{{shape[0], shape[1], size}}, {together}),
                              builder.add(ReshapeOp{{size, features}}, {kernel})};
    if (has_bias_) inputs.push_back(weight(builder, "attention_output/bias", {features}, bias_));
    return builder.add(DenseOp{}, inputs);
  }
  // Of the shape (batch, heads, queries, keys), or with sizes of 1: what is seen by the masks of
  // the query, the key and the value, and by an attention_mask.
  std::optional<Value> seen(ProgramBuilder &builder, Value scores, const LayerCall &call) const {
    const Shape sizes = builder.shape(scores);
    std::optional<Value> seen;
    const auto meet = [&](Value mask, const Shape &shape) {
      Shape common = sizes;
      common[1] = shape[1];
      mask = builder.add(ReshapeOp{shape}, {mask});
      if (shape != common) mask = builder.add(BroadcastOp{common}, {mask});
      seen = seen ? builder.add(ArithmeticOp{Arithmetic::multiply}, {*seen, mask}) : mask;
    };
    const auto mask = call.named.find("attention_mask");
    Shape shape;
    if (mask != call.named.end()) {
      // The same for all heads, unless it says more.
      shape = builder.shape(mask->second);
      if (shape.size() == 3) shape.insert(shape.begin() + 1, 1);
    }
    std::vector<std::pair<Value, Shape>> of_steps;
    if (const auto query = builder.mask(call.named.at("query")))
      of_steps.push_back({*query, {sizes[0], 1, sizes[2], 1}});
    for (const char *which : {"value", "key"})
      if (const auto given = call.named.find(which); given != call.named.end())
        if (const auto keys = builder.mask(given->second))
          of_steps.push_back({*keys, {sizes[0], 1, 1, sizes[3]}});
    if (of_steps.empty()) {
      if (mask == call.named.end()) return {};
      if (builder.type(mask->second).dtype == Dtype::i32)
        return builder.add(ReshapeOp{shape}, {mask->second});
    }
    if (mask != call.named.end()) {
      const Value counts = builder.add(FunctionOp{Function::differs, 0}, {mask->second});
      if (of_steps.empty()) seen = builder.add(ReshapeOp{shape}, {counts});
      else meet(counts, shape);
    }
    for (auto &[steps, of_axes] : of_steps) {
      const bool has_heads = seen && builder.shape(*seen)[1] != 1;
      if (has_heads)
        throw Error(Code::unsupported,
                    "calling the layer '" + name() +
                        "' (MultiHeadAttention) with masks of steps and an attention_mask that has "
                        "one for each head; give it one for all of them");
      meet(steps, of_axes);
    }
    return builder.add(FunctionOp{Function::whole}, {*seen});
  }
  Value masked(ProgramBuilder &builder, Value scores, const LayerCall &call) const {
    const bool is_causal = is_set(call, "use_causal_mask");
    const auto mask = seen(builder, scores, call);
    if (!mask && !is_causal) return scores;
    std::vector<Value> inputs{scores};
    if (mask) inputs.push_back(*mask);
    return builder.add(AttentionMaskOp{is_causal}, inputs);
  }
  // What of the scores is left in training.
  Value dropped(ProgramBuilder &builder, Value scores, const LayerCall &call) const {
    if (dropout_ == 0 || !is_training(builder, call)) return scores;
    return builder.add(DropoutOp{dropout_}, {scores});
  }

  const int64_t heads_, key_size_, value_size_;
  const bool has_bias_;
  const float dropout_;
  std::optional<int64_t> output_features_;  // none: those of the query
  const WeightStyle kernel_, bias_;
};

}  // namespace

LayerTable attention_layers() {
  return {
      {"MultiHeadAttention", making<MultiHeadAttention>()},
  };
}

}  // namespace det::nn
