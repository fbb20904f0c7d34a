#include "wrappers/nn/layers/dense.h"

#include "core/base/error.h"

namespace det::nn {

Dense::Dense(Fields &fields)
    : Layer(fields),
      units_(fields.positive_integer("units")),
      activation_(fields, "activation"),
      has_bias_(fields.flag("use_bias", true)),
      kernel_(fields, "kernel", "glorot_uniform"),
      bias_(fields, "bias", "zeros") {
  set_masking(Masking::passes);
  read_activity_regularizer(fields);
}

std::vector<Value> Dense::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = only_input(call, name());
  if (builder.shape(x).size() < 2)
    throw Error(Code::invalid, "calling the layer '" + name() + "' (Dense) with an input of " +
                                   text_of(builder.shape(x)) +
                                   ": it needs an axis of features beside that of the batch");
  std::vector<Value> inputs{x,
                            weight(builder, "kernel", {builder.shape(x).back(), units_}, kernel_)};
  if (has_bias_) inputs.push_back(weight(builder, "bias", {units_}, bias_));
  return {activation_.add(builder, DenseOp{activation_.fused()}, inputs)};
}

}  // namespace det::nn
