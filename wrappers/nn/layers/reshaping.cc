#include "wrappers/nn/layers/reshaping.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

std::vector<Value> Flatten::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = only_input(call, name());
  const Shape &shape = builder.shape(x);
  const Shape features(shape.begin() + 1, shape.end());
  return {builder.add(ReshapeOp{{shape[0], elements_of(features)}}, {x})};
}

ReshapeLayer::ReshapeLayer(Fields &fields) : Layer(fields), target_(fields.shape("target_shape")) {
  if (std::count(target_.begin(), target_.end(), unknown) > 1)
    throw Error(Code::invalid, "reading " + fields.where() +
                                   ": only one size of 'target_shape' can be what is left over");
}

std::vector<Value> ReshapeLayer::compute(ProgramBuilder &builder, const LayerCall &call) const {
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

Permute::Permute(Fields &fields) : Layer(fields), permutation_{0} {
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

std::vector<Value> Permute::compute(ProgramBuilder &builder, const LayerCall &call) const {
  return {builder.add(TransposeOp{permutation_}, {only_input(call, name())})};
}

std::vector<Value> RepeatVector::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = only_input(call, name());
  const Shape shape = builder.shape(x);
  if (shape.size() != 2 || times_ < 1)
    throw Error(Code::invalid, "calling the layer '" + name() +
                                   "' (RepeatVector) with an input of " + text_of(shape) +
                                   " to repeat " + std::to_string(times_) +
                                   " times: it needs the axes batch and features, and one time at "
                                   "least");
  const Value one = builder.add(ReshapeOp{{shape[0], 1, shape[1]}}, {x});
  return {builder.add(BroadcastOp{{shape[0], times_, shape[1]}}, {one})};
}

}  // namespace det::nn
