#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// Whole numbers to rows of a table that is trained.
class Embedding : public Layer {
 public:
  explicit Embedding(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const int64_t rows_, features_;
  const WeightStyle table_;
};

}  // namespace det::nn
