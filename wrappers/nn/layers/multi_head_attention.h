#pragma once

#include <optional>

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// Called with the query, and with "value" and, if it is another array, "key"; with "attention_mask"
// and "use_causal_mask" where something is not to be seen.
class MultiHeadAttention : public Layer {
 public:
  explicit MultiHeadAttention(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  // From (batch, steps, features) to (batch, heads, steps, size).
  Value project(ProgramBuilder &builder, const char *which, Value x, int64_t size) const;
  // Back to (batch, steps, features).
  Value join(ProgramBuilder &builder, Value heads, int64_t features) const;
  std::optional<Value> seen(ProgramBuilder &builder, Value scores, const LayerCall &call) const;
  Value masked(ProgramBuilder &builder, Value scores, const LayerCall &call) const;
  // What of the scores is left in training.
  Value dropped(ProgramBuilder &builder, Value scores, const LayerCall &call) const;

  const int64_t heads_, key_size_, value_size_;
  const bool has_bias_;
  const float dropout_;
  std::optional<int64_t> output_features_;  // none: those of the query
  const WeightStyle kernel_, bias_;
};

}  // namespace det::nn
