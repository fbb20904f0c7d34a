#include "core/base/error.h"
#include "wrappers/nn/layers/activation_layers.h"
#include "wrappers/nn/layers/layer_table.h"

namespace det::nn {

namespace {

// activation(x . kernel + bias), over the last axis.
class Dense : public Layer {
 public:
  explicit Dense(Fields &fields)
      : Layer(fields),
        units_(fields.positive_integer("units")),
        activation_(fields, "activation"),
        has_bias_(fields.flag("use_bias", true)),
        kernel_(fields, "kernel", "glorot_uniform"),
        bias_(fields, "bias", "zeros") {
    set_masking(Masking::passes);
    read_activity_regularizer(fields);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = only_input(call, name());
    if (builder.shape(x).size() < 2)
      throw Error(Code::invalid, "calling the layer '" + name() + "' (Dense) with an input of " +
                                     text_of(builder.shape(x)) +
                                     ": it needs an axis of features beside that of the batch");
    std::vector<Value> inputs{
        x, weight(builder, "kernel", {builder.shape(x).back(), units_}, kernel_)};
    if (has_bias_) inputs.push_back(weight(builder, "bias", {units_}, bias_));
    return {activation_.add(builder, DenseOp{activation_.fused()}, inputs)};
  }

 private:
  const int64_t units_;
  const NamedActivation activation_;
  const bool has_bias_;
  const WeightStyle kernel_, bias_;
};

}  // namespace

LayerTable dense_layers() {
  return {
      {"Dense", making<Dense>()},
  };
}

}  // namespace det::nn
