// Layers that give their input another shape.
#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/layers/layer_table.h"

namespace det::nn {

namespace {

class Flatten : public Layer {
 public:
  explicit Flatten(Fields &fields) : Layer(fields) { fields.only("data_format", "channels_last"); }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = only_input(call, name());
    const Shape &shape = builder.shape(x);
    const Shape features(shape.begin() + 1, shape.end());
    return {builder.add(ReshapeOp{{shape[0], elements_of(features)}}, {x})};
  }
};

// To a shape of which one size may be -1: what is left over.
class ReshapeLayer : public Layer {
 public:
  explicit ReshapeLayer(Fields &fields) : Layer(fields), target_(fields.shape("target_shape")) {
    if (std::count(target_.begin(), target_.end(), unknown) > 1)
      throw Error(Code::invalid, "reading " + fields.where() +
                                     ": only one size of 'target_shape' can be what is left over");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = only_input(call, name());
    const Shape &from = builder.shape(x);
    Shape target = target_;
    target.insert(target.begin(), from.at(0));
    if (const auto left = std::find(target.begin(), target.end(), unknown); left != target.end()) {
      *left = 1;
      const int64_t others = elements_of(target);
      *left = others == 0 ? 0 : elements_of(from) / others;
    }
    return {builder.add(ReshapeOp{target}, {x})};
  }

 private:
  const Shape target_;  // without the batch
};

// The axes in another order; the batch, which is not counted, stays the first.
class Permute : public Layer {
 public:
  explicit Permute(Fields &fields) : Layer(fields), permutation_{0} {
    const Shape dims = fields.shape("dims");
    for (const int64_t axis : dims) {
      const bool is_axis = axis >= 1 && axis <= static_cast<int64_t>(dims.size());
      const auto counted = static_cast<size_t>(is_axis ? axis : 0);
      if (std::count(permutation_.begin(), permutation_.end(), counted) > 0)
        throw Error(Code::invalid, "reading " + fields.where() + ": 'dims' is " + text_of(dims) +
                                       ", and must have each axis from 1 to " +
                                       std::to_string(dims.size()) + " once");
      permutation_.push_back(counted);
    }
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    return {builder.add(TransposeOp{permutation_}, {only_input(call, name())})};
  }

 private:
  std::vector<size_t> permutation_;  // with the batch
};

// (batch, features) to (batch, n, features).
class RepeatVector : public Layer {
 public:
  explicit RepeatVector(Fields &fields) : Layer(fields), times_(fields.integer("n")) {}

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = only_input(call, name());
    const Shape shape = builder.shape(x);
    if (shape.size() != 2 || times_ < 1)
      throw Error(Code::invalid,
                  "calling the layer '" + name() + "' (RepeatVector) with an input of " +
                      text_of(shape) + " to repeat " + std::to_string(times_) +
                      " times: it needs the axes batch and features, and one time at "
                      "least");
    const Value one = builder.add(ReshapeOp{{shape[0], 1, shape[1]}}, {x});
    return {builder.add(BroadcastOp{{shape[0], times_, shape[1]}}, {one})};
  }

 private:
  const int64_t times_;
};

}  // namespace

LayerTable reshaping_layers() {
  return {
      {"Flatten", making<Flatten>()},
      {"Permute", making<Permute>()},
      {"RepeatVector", making<RepeatVector>()},
      {"Reshape", making<ReshapeLayer>()},
  };
}

}  // namespace det::nn
