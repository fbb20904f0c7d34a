// Layers that take means off and divide by deviations: those of the batch, of each record, or known
// ones.
#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/layers/last_axes.h"
#include "wrappers/nn/layers/layer_table.h"

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

// The weights gamma and beta, each where the layer has it.
class NormalizationLayer : public Layer {
 protected:
  explicit NormalizationLayer(Fields &fields)
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

  // Which of the axes of an input it is along. Throws Code::invalid where there is none.
  size_t axis_in(const Shape &shape) const {
    const size_t axis = axis_of(shape, axis_, "calling the layer '" + name() + "'");
    if (axis == 0)
      throw Error(Code::invalid, "calling the layer '" + name() + "' with an input of " +
                                     text_of(shape) + ": its 'axis' is that of the batch");
    return axis;
  }
  // x, and those of gamma and beta that there are.
  std::vector<Value> with_weights(ProgramBuilder &builder, Value x, int64_t size) const {
    std::vector<Value> inputs{x};
    if (has_scale_) inputs.push_back(weight(builder, "gamma", {size}, gamma_));
    if (has_center_) inputs.push_back(weight(builder, "beta", {size}, beta_));
    return inputs;
  }

  const bool has_center_, has_scale_;
  const double epsilon_;

 private:
  const int64_t axis_;
  const WeightStyle gamma_, beta_;
};

// Frozen ("trainable": false) it takes the moving mean and variance in training as well.
class BatchNormalization : public NormalizationLayer {
 public:
  explicit BatchNormalization(Fields &fields)
      : NormalizationLayer(fields),
        momentum_(fields.number("momentum", 0.99)),
        mean_initializer_(initializer_field(fields, "moving_mean_initializer", "zeros")),
        variance_initializer_(initializer_field(fields, "moving_variance_initializer", "ones")) {
    if (!(momentum_ >= 0 && momentum_ <= 1))
      throw Error(Code::invalid, "reading " + fields.where() + ": 'momentum' must be from 0 to 1");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
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

 private:
  const double momentum_;
  const std::shared_ptr<const Initializer> mean_initializer_, variance_initializer_;
};

// Along the last axis.
class LayerNormalization : public NormalizationLayer {
 public:
  explicit LayerNormalization(Fields &fields) : NormalizationLayer(fields) {
    // As of this epsilon TensorFlow has an operation for it, behind which Keras scales in 16 bits.
    if (epsilon_ >= 1.001e-5) set_mixing(Mixing::everything);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = only_input(call, name());
    const Shape shape = builder.shape(x);
    if (axis_in(shape) + 1 != shape.size())
      throw Error(Code::unsupported, "calling the layer '" + name() + "' with an input of " +
                                         text_of(shape) + ": its 'axis' can only be the last one");
    const LayerNormalizationOp op{has_scale_, has_center_, static_cast<float>(epsilon_)};
    return {builder.add(op, with_weights(builder, x, shape.back()))};
  }
};

// Of a number or of nested arrays, in their order. False where something else is among them.
bool append_numbers(const Json &given, std::vector<float> &numbers) {
  if (given.is_number()) numbers.push_back(given.get<float>());
  return given.is_number() ||
         (given.is_array() && std::all_of(given.begin(), given.end(), [&](const Json &part) {
            return append_numbers(part, numbers);
          }));
}

std::vector<float> numbers_or_none(Fields &fields, const char *key) {
  std::vector<float> numbers;
  const Json &given = fields.any(key);
  if (!given.is_null() && (!append_numbers(given, numbers) || numbers.empty()))
    throw Error(Code::invalid, "reading " + fields.where() + ": '" + key +
                                   "' must be a number or an array of numbers");
  return numbers;
}

Value constant(ProgramBuilder &builder, const std::vector<float> &numbers, int64_t size,
               const std::string &what) {
  const Array array({{size}, Dtype::f32});
  if (numbers.size() != 1 && numbers.size() != array.size())
    throw Error(Code::invalid, what + " has " + std::to_string(numbers.size()) +
                                   " numbers, and the axes that it is along " +
                                   std::to_string(size) + " places");
  for (size_t i = 0; i < array.size(); ++i)
    array.data()[i] = numbers.size() == 1 ? numbers[0] : numbers[i];
  return builder.constant(array);
}

// For each place along its axes by itself. Without a mean and a variance of its own these are
// weights that are not trained, and beside them the count of what they are the moments of.
class Standardization : public Layer {
 public:
  explicit Standardization(Fields &fields)
      : Layer(fields),
        axes_(axes_field(fields, -1)),
        is_inverse_(fields.flag("invert", false)),
        mean_(numbers_or_none(fields, "mean")),
        variance_(numbers_or_none(fields, "variance")) {
    set_mixing(Mixing::ends);
    if (mean_.empty() != variance_.empty())
      throw Error(Code::invalid, "reading " + fields.where() +
                                     ": 'mean' and 'variance' are given both, or none of them");
    if (std::any_of(variance_.begin(), variance_.end(), [](float one) { return !(one >= 0); }))
      throw Error(Code::invalid, "reading " + fields.where() + ": a 'variance' is below 0");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value given = only_input(call, name());
    const std::string calling = "calling the layer '" + name() + "' (" + class_name() + ")";
    const Shape shape = builder.shape(given);
    if (builder.type(given).dtype != Dtype::f32)
      throw Error(Code::unsupported, calling + " with whole numbers: it takes real ones");
    const LastAxes last(shape, axes_, calling);
    const int64_t size = elements_of(last.sizes());
    const Value x = last.put_last(builder, given);
    Value mean = 0, variance = 0;
    if (mean_.empty()) {
      const auto moment = [&](const char *moment_name, const char *first) {
        const Value own =
            weight(builder, moment_name, last.sizes(), make_initializer(first, calling), true);
        return axes_.size() == 1 ? own : builder.add(ReshapeOp{{size}}, {own});
      };
      mean = moment("mean", "zeros");
      variance = moment("variance", "ones");
      weight(builder, "count", {}, make_initializer("zeros", calling), true);
    } else {
      mean = constant(builder, mean_, size, calling + ": its 'mean'");
      variance = constant(builder, variance_, size, calling + ": its 'variance'");
    }
    return {last.put_back(builder, is_inverse_ ? inverted(builder, x, mean, variance)
                                               : standardized(builder, x, mean, variance))};
  }

 private:
  Value standardized(ProgramBuilder &builder, Value x, Value mean, Value variance) const {
    BatchNormalizationOp op;
    op.axis = builder.shape(x).size() - 1;
    op.has_scale = op.has_center = false;
    op.epsilon = 1e-14F;  // Keras divides by 1e-7 at least
    return builder.add(op, {x, mean, variance});
  }
  // x * deviation + mean, where the deviation is the variance divided by it.
  Value inverted(ProgramBuilder &builder, Value x, Value mean, Value variance) const {
    const int64_t size = builder.shape(variance)[0];
    const Value row = builder.add(ReshapeOp{{1, size}}, {variance});
    const Value zeros = builder.constant(Array({{size}, Dtype::f32}));
    const Value deviation =
        builder.add(ReshapeOp{{size}}, {standardized(builder, row, zeros, variance)});
    const Value scaled = builder.add(ArithmeticOp{Arithmetic::multiply}, {x, deviation});
    return builder.add(ArithmeticOp{Arithmetic::add}, {scaled, mean});
  }

  const Shape axes_;
  const bool is_inverse_;
  std::vector<float> mean_, variance_;  // empty: weights; of one number: the same everywhere
};

}  // namespace

LayerTable normalization_layers() {
  return {
      {"BatchNormalization", making<BatchNormalization>()},
      {"LayerNormalization", making<LayerNormalization>()},
      {"Normalization", making<Standardization>()},
  };
}

}  // namespace det::nn
