// Layers of several inputs.
#pragma once

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// x op y of shapes that may differ as below.
Value merged(ProgramBuilder &builder, Arithmetic arithmetic, Value x, Value y);

// Add, Subtract, Multiply, Maximum, Minimum: from the first input to the last. Sizes of 1 are
// repeated to those of the others, and axes that are missing are added behind the batch.
class Merging : public Layer {
 public:
  Merging(Fields &fields, Arithmetic arithmetic);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const Arithmetic arithmetic_;
};

class Average : public Merging {
 public:
  explicit Average(Fields &fields) : Merging(fields, Arithmetic::add) {}

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;
};

class Concatenate : public Layer {
 public:
  explicit Concatenate(Fields &fields) : Layer(fields), axis_(fields.integer("axis", -1)) {
    set_masking(Masking::by_itself);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const int64_t axis_;
};

// The sums of products along one axis of each of two inputs, for each record.
class Dot : public Layer {
 public:
  explicit Dot(Fields &fields);

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override;

 private:
  const Shape axes_;
};

}  // namespace det::nn
