#include "wrappers/nn/layers/activation_layers.h"

#include <optional>

#include "core/base/error.h"
#include "wrappers/nn/layers/last_axes.h"
#include "wrappers/nn/layers/layer_table.h"
#include "wrappers/nn/layers/merging.h"

namespace det::nn {

std::string activation_name(Fields &fields, const char *key, const char *usual) {
  const Json &given = fields.any(key, usual);
  if (given.is_null()) return "linear";
  return given.is_string() ? given.get<std::string>() : to_wire(given);
}

NamedActivation::NamedActivation(Fields &fields, const char *key, const char *usual) {
  const std::string name = activation_name(fields, key, usual);
  softmax_.is_logarithm = name == "log_softmax";
  if (name != "softmax" && name != "log_softmax")
    activation_ = activation_named(name, fields.where());
}

Activation NamedActivation::fused() const {
  return activation_ && derives_from_result(*activation_) ? *activation_ : Activation::linear;
}

Value NamedActivation::add(ProgramBuilder &builder, const Operation &operation,
                           const std::vector<Value> &inputs) const {
  const Value y = builder.add(operation, inputs);
  return activation_ && *activation_ == fused() ? y : add(builder, y);
}

Value NamedActivation::add(ProgramBuilder &builder, Value x) const {
  if (!activation_) return builder.add(softmax_, {x});
  if (*activation_ == Activation::linear) return x;
  const bool is_leaky = *activation_ == Activation::leaky_relu;
  return builder.add(ActivationOp{*activation_, is_leaky ? 0.2F : 1.0F}, {x});
}

namespace {

class ActivationLayer : public Layer {
 public:
  explicit ActivationLayer(Fields &fields) : Layer(fields), activation_(fields, "activation") {
    set_masking(Masking::passes);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    return {activation_.add(builder, only_input(call, name()))};
  }

 private:
  const NamedActivation activation_;
};

// Over one axis, or over several of them together.
class SoftmaxLayer : public Layer {
 public:
  explicit SoftmaxLayer(Fields &fields) : Layer(fields), axes_(axes_field(fields, -1)) {
    set_masking(Masking::passes);
    if (axes_.empty())
      throw Error(Code::invalid, "reading " + fields.where() + ": 'axis' names no axis");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    Value x = only_input(call, name());
    // As Keras does it: of a row without any that count all are alike.
    if (const auto mask = mask_of(builder, call)) {
      if (builder.shape(*mask).size() != builder.shape(x).size())
        throw Error(Code::invalid, "calling the layer '" + name() + "' (Softmax) with a mask of " +
                                       text_of(builder.shape(*mask)) + ": its input is " +
                                       text_of(builder.shape(x)) + ", and both need as many axes");
      const float large = builder.precision() == Dtype::f16 ? 65504.0F : 1e9F;
      x = merged(builder, Arithmetic::add, x, builder.add(ScaleOp{large, -large}, {*mask}));
    }
    const LastAxes last(builder.shape(x), axes_, "calling the layer '" + name() + "'");
    return {last.put_back(builder, builder.add(SoftmaxOp{}, {last.put_last(builder, x)}))};
  }

 private:
  const Shape axes_;
};

// Its input as it is, which makes it a part of the loss.
class ActivityRegularization : public Layer {
 public:
  explicit ActivityRegularization(Fields &fields) : Layer(fields) {
    set_masking(Masking::passes);
    set_activity_regularizer(
        {static_cast<float>(fields.number("l1", 0)), static_cast<float>(fields.number("l2", 0))});
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &, const LayerCall &call) const override {
    return {only_input(call, name())};
  }
};

// Its input as it is, a single number that is a part of the loss.
class AddLoss : public Layer {
 public:
  explicit AddLoss(Fields &fields) : Layer(fields) {
    set_mixing(Mixing::nothing);
    fields.without_effect("unconditional");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = only_input(call, name());
    if (!builder.shape(x).empty())
      throw Error(Code::unsupported, "calling the layer '" + name() +
                                         "' (AddLoss) with an input of " +
                                         text_of(builder.shape(x)) +
                                         ": a single number is needed, such as the mean of it all");
    builder.add_to_loss(x);
    return {x};
  }
};

// ELU and LeakyReLU, whose functions have a number.
class AlphaLayer : public Layer {
 public:
  AlphaLayer(Fields &fields, Activation activation, double usual)
      : Layer(fields), op_{activation, static_cast<float>(fields.number("alpha", usual))} {
    set_masking(Masking::passes);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    return {builder.add(op_, {only_input(call, name())})};
  }

 private:
  const ActivationOp op_;
};

// With a slope below 0 that is trained, of each place of a record or the same along some axes.
class PReluLayer : public Layer {
 public:
  explicit PReluLayer(Fields &fields)
      : Layer(fields),
        alpha_(fields, "alpha", "zeros"),
        shared_axes_(axes_field(fields, nullptr, "shared_axes")) {
    set_masking(Masking::passes);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = only_input(call, name());
    const Shape shape = builder.shape(x);
    const Shape record(shape.begin() + 1, shape.end());
    Shape own = record;
    for (const int64_t axis : shared_axes_) {
      if (axis < 1 || axis > static_cast<int64_t>(record.size()))
        throw Error(Code::invalid, "calling the layer '" + name() + "' with an input of " +
                                       text_of(shape) + ": it has no axis " + std::to_string(axis) +
                                       " beside its batch, as 'shared_axes' says");
      own[static_cast<size_t>(axis) - 1] = 1;
    }
    Value alpha = weight(builder, "alpha", own, alpha_);
    if (own != record) alpha = builder.add(BroadcastOp{record}, {alpha});
    const auto above_0 = [&](Value value) {
      return builder.add(ActivationOp{Activation::relu}, {value});
    };
    const Value below = above_0(builder.add(ScaleOp{-1}, {x}));
    return {
        builder.add(ArithmeticOp{Arithmetic::subtract},
                    {above_0(x), builder.add(ArithmeticOp{Arithmetic::multiply}, {below, alpha})})};
  }

 private:
  const WeightStyle alpha_;
  const Shape shared_axes_;
};

// As it is from the threshold to the largest value, if there is one; with a slope below.
class ReluLayer : public Layer {
 public:
  explicit ReluLayer(Fields &fields)
      : Layer(fields),
        largest_(fields.number_or_none("max_value")),
        slope_(fields.number("negative_slope", 0)),
        threshold_(fields.number("threshold", 0)) {
    set_masking(Masking::passes);
    for (const auto &[key, value] : {std::pair{"max_value", largest_.value_or(0)},
                                     {"negative_slope", slope_},
                                     {"threshold", threshold_}})
      if (value < 0)
        throw Error(Code::invalid, "reading " + fields.where() + ": '" + key + "' is " +
                                       to_wire(fields.any(key)) + ", and must be 0 or more");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    return {builder.add(operation(), {only_input(call, name())})};
  }

 private:
  // What is usual goes by operations that back ends are quicker at.
  Operation operation() const {
    const auto slope = static_cast<float>(slope_);
    if (threshold_ == 0 && !largest_)
      return slope_ == 0 ? ActivationOp{Activation::relu}
                         : ActivationOp{Activation::leaky_relu, slope};
    if (threshold_ == 0 && slope_ == 0 && largest_ == 6) return ActivationOp{Activation::relu6};
    ReluOp relu{slope, static_cast<float>(threshold_)};
    if (largest_) relu.largest = static_cast<float>(*largest_);
    return relu;
  }

  const std::optional<double> largest_;
  const double slope_, threshold_;
};

}  // namespace

LayerTable activation_layers() {
  return {
      {"Activation", making<ActivationLayer>()},
      {"ActivityRegularization", making<ActivityRegularization>()},
      {"AddLoss", making<AddLoss>()},
      {"ELU", making<AlphaLayer>(Activation::elu, 1.0)},
      {"LeakyReLU", making<AlphaLayer>(Activation::leaky_relu, 0.3)},
      {"PReLU", making<PReluLayer>()},
      {"ReLU", making<ReluLayer>()},
      {"Softmax", making<SoftmaxLayer>()},
  };
}

}  // namespace det::nn
