// Some of what goes in left out while the model is trained.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// The rate of a layer that leaves out some of what it computes: from 0, the default, to below 1, as
// of what is left out for certain nothing would be learnt.
float rate_below_1(Fields &fields, const char *key);

// Each element by itself, or whole channels of an input of `rank` axes.
class Dropout : public Layer {
 public:
  enum class Kind { elements, channels };

  explicit Dropout(Fields &fields, Kind kind = Kind::elements, size_t rank = 0);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const Kind kind_;
  const size_t rank_;
  const double rate_;
  std::optional<uint64_t> seed_;
};

}  // namespace det::nn
