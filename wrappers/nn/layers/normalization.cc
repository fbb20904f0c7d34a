#include "wrappers/nn/layers/normalization.h"

#include "core/base/error.h"

namespace det::nn {

namespace {

// A number, or a list of one, as Keras writes it.
int64_t only_axis(Fields &fields) {
  const Json &axis = fields.any("axis", -1);
  const Json &one = axis.is_array() && axis.size() == 1 ? axis[0] : axis;
  if (one.is_number_integer()) return one.get<int64_t>();
  throw Error(Code::unsupported,
              "reading " + fields.where() + ": 'axis' must be one axis, not " + to_wire(axis));
}

double positive_number(Fields &fields, const char *key, double usual) {
  const double number = fields.number(key, usual);
  if (number > 0) return number;
  throw Error(Code::invalid, "reading " + fields.where() + ": '" + key + "' is " +
                                 to_wire(fields.any(key, usual)) + ", and must be above 0");
}

std::shared_ptr<const Initializer> initializer_field(Fields &fields, const char *key,
                                                     const char *usual) {
  return make_initializer(fields.any(key, usual), fields.where());
}

}  // namespace

NormalizationLayer::NormalizationLayer(Fields &fields)
    : Layer(fields),
      has_center_(fields.flag("center", true)),
      has_scale_(fields.flag("scale", true)),
      epsilon_(positive_number(fields, "epsilon", 1e-3)),
      axis_(only_axis(fields)),
      gamma_(fields, "gamma", "ones"),
      beta_(fields, "beta", "zeros") {
  // Means and deviations of few bits would be worth little.
  set_mixing(Mixing::ends);
  set_masking(Masking::passes);
}

size_t NormalizationLayer::axis_in(const Shape &shape) const {
  const size_t axis = axis_of(shape, axis_, "calling the layer '" + name() + "'");
  if (axis == 0)
    throw Error(Code::invalid, "calling the layer '" + name() + "' with an input of " +
                                   text_of(shape) + ": its 'axis' is that of the batch");
  return axis;
}

std::vector<Value> NormalizationLayer::with_weights(ProgramBuilder &builder, Value x,
                                                    int64_t size) const {
  std::vector<Value> inputs{x};
  if (has_scale_) inputs.push_back(weight(builder, "gamma", {size}, gamma_));
  if (has_center_) inputs.push_back(weight(builder, "beta", {size}, beta_));
  return inputs;
}

BatchNormalization::BatchNormalization(Fields &fields)
    : NormalizationLayer(fields),
      momentum_(fields.number("momentum", 0.99)),
      mean_initializer_(initializer_field(fields, "moving_mean_initializer", "zeros")),
      variance_initializer_(initializer_field(fields, "moving_variance_initializer", "ones")) {
  if (!(momentum_ >= 0 && momentum_ <= 1))
    throw Error(Code::invalid, "reading " + fields.where() + ": 'momentum' must be from 0 to 1");
}

std::vector<Value> BatchNormalization::compute(ProgramBuilder &builder,
                                               const LayerCall &call) const {
  const Value x = only_input(call, name());
  const Shape shape = builder.shape(x);
  BatchNormalizationOp op;
  op.axis = axis_in(shape);
  op.has_scale = has_scale_;
  op.has_center = has_center_;
  op.is_training = is_trainable() && is_training(builder, call);
  // Of images Keras ignores it, and warns.
  const auto mask = op.is_training && shape.size() != 4 ? mask_of(builder, call) : std::nullopt;
  op.has_mask = mask.has_value();
  op.is_unbiased = shape.size() == 4 && op.axis != 2;
  op.momentum = static_cast<float>(momentum_);
  op.epsilon = static_cast<float>(epsilon_);
  const int64_t size = shape[op.axis];
  std::vector<Value> inputs = with_weights(builder, x, size);
  inputs.push_back(weight(builder, "moving_mean", {size}, mean_initializer_, true));
  inputs.push_back(weight(builder, "moving_variance", {size}, variance_initializer_, true));
  if (mask) inputs.push_back(*mask);
  return {builder.add(op, inputs)};
}

LayerNormalization::LayerNormalization(Fields &fields) : NormalizationLayer(fields) {
  // As of this epsilon TensorFlow has an operation for it, behind which Keras scales in 16 bits.
  if (epsilon_ >= 1.001e-5) set_mixing(Mixing::everything);
}

std::vector<Value> LayerNormalization::compute(ProgramBuilder &builder,
                                               const LayerCall &call) const {
  const Value x = only_input(call, name());
  const Shape shape = builder.shape(x);
  if (axis_in(shape) + 1 != shape.size())
    throw Error(Code::unsupported, "calling the layer '" + name() + "' with an input of " +
                                       text_of(shape) + ": its 'axis' can only be the last one");
  const LayerNormalizationOp op{has_scale_, has_center_, static_cast<float>(epsilon_)};
  return {builder.add(op, with_weights(builder, x, shape.back()))};
}

}  // namespace det::nn
