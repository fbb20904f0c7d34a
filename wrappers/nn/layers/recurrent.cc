#include "wrappers/nn/layers/recurrent.h"

#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/layers/activation_layers.h"
#include "wrappers/nn/layers/dropout.h"

namespace det::nn {

namespace {

// A function of each element alone, and without a number of its own.
Activation activation_of_cell(Fields &fields, const char *key, const char *usual) {
  const std::string name = activation_name(fields, key, usual);
  if (name == "softmax" || name == "log_softmax" || name == "leaky_relu")
    throw Error(Code::unsupported, "reading " + fields.where() + ": '" + key + "' is '" + name +
                                       "', which is not supported within a recurrent layer");
  return activation_named(name, fields.where());
}

// Ones for the forget gate, so that cells begin by keeping what they have.
class ForgetBias : public Initializer {
 public:
  explicit ForgetBias(std::shared_ptr<const Initializer> others) : others_(std::move(others)) {}

  void fill(std::span<float> values, const Shape &, RandomStream &random) const override {
    const size_t units = values.size() / 4;
    const auto shape_of = [](size_t size) { return Shape{static_cast<int64_t>(size)}; };
    others_->fill(values.first(units), shape_of(units), random);
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(units), units, 1.0F);
    others_->fill(values.subspan(2 * units), shape_of(2 * units), random);
  }

 private:
  std::shared_ptr<const Initializer> others_;
};

}  // namespace

Recurrent::Recurrent(Fields &fields)
    : Layer(fields),
      units_(fields.positive_integer("units")),
      activation_(activation_of_cell(fields, "activation", "tanh")),
      goes_backwards_(fields.flag("go_backwards", false)),
      bias_(fields, "bias", "zeros"),
      has_bias_(fields.flag("use_bias", true)),
      returns_sequences_(fields.flag("return_sequences", false)),
      returns_state_(fields.flag("return_state", false)),
      is_unrolled_(fields.flag("unroll", false)),
      kernel_(fields, "kernel", "glorot_uniform"),
      recurrent_(fields, "recurrent", "orthogonal"),
      dropout_(rate_below_1(fields, "dropout")),
      recurrent_dropout_(rate_below_1(fields, "recurrent_dropout")),
      has_gates_apart_(fields.is_given("implementation") && fields.integer("implementation") < 2),
      zeroes_masked_(fields.is_given("zero_output_for_mask") &&
                     fields.flag("zero_output_for_mask")) {
  set_masking(Masking::by_itself);
  read_activity_regularizer(fields);
  if (fields.is_given("stateful") && fields.flag("stateful"))
    throw Error(Code::unsupported,
                "reading " + fields.where() +
                    ": 'stateful' is true, and no state is kept from batch to batch; call it with "
                    "the states before, and return_state, in a functional model");
  for (const char *key : {"stateful", "time_major"}) fields.only(key, false);
}

// As it is in Keras.
bool Recurrent::drops_by_gates() const {
  if (recurrent_dropout_ > 0) return true;
  return dropout_ > 0 && gates() > 1 && has_gates_apart_ && (is_unrolled_ || !is_of_gpus());
}

// Elements of their own at each step, where Keras drops them from the whole input; else whole
// features of a record.
Value Recurrent::dropped(ProgramBuilder &builder, Value x) const {
  if (dropout_ == 0 || drops_by_gates()) return x;
  return builder.add(DropoutOp{dropout_, is_unrolled_ || !is_of_gpus()}, {x});
}

std::vector<Value> Recurrent::extras(ProgramBuilder &builder, const LayerCall &call,
                                     RecurrentExtras &extras) const {
  std::vector<Value> inputs;
  const auto mask = mask_of(builder, call);
  if (mask) inputs.push_back(*mask);
  extras = {mask.has_value(), zeroes_masked_, call.inputs.size() - 1};
  if (extras.states != 0 && extras.states != kinds())
    throw Error(Code::invalid, "calling the layer '" + name() + "' (" + class_name() + ") with " +
                                   std::to_string(extras.states) +
                                   " states to begin with: it takes " + std::to_string(kinds()));
  inputs.insert(inputs.end(), call.inputs.begin() + 1, call.inputs.end());
  return inputs;
}

std::vector<Value> Recurrent::compute(ProgramBuilder &builder, const LayerCall &call) const {
  if (call.inputs.empty()) only_input(call, name());
  const Value x = call.inputs[0];
  if (builder.shape(x).size() != 3)
    throw Error(Code::invalid, "calling the layer '" + name() + "' (" + class_name() +
                                   ") with an input of " + text_of(builder.shape(x)) +
                                   ": it needs the axes batch, steps and features");
  const std::string path = std::string(cell()) + "/";
  const int64_t width = elements_of({gates(), units_});
  const bool drops = is_training(builder, call);
  std::vector<Value> inputs{
      drops ? dropped(builder, x) : x,
      weight(builder, path + "kernel", {builder.shape(x).back(), width}, kernel_),
      weight(builder, path + "recurrent_kernel", {units_, width}, recurrent_)};
  if (has_bias_) inputs.push_back(weight(builder, path + "bias", bias_shape(), bias_));
  const GateDropout dropout =
      drops && drops_by_gates() ? GateDropout{dropout_, recurrent_dropout_} : GateDropout{};
  RecurrentExtras extra;
  const std::vector<Value> more = extras(builder, call, extra);
  inputs.insert(inputs.end(), more.begin(), more.end());
  const std::vector<Value> states = builder.add_all(operation(dropout, extra), inputs);
  std::vector<Value> results{returns_sequences_ ? states[0] : states[1]};
  if (extra.has_mask && returns_sequences_) builder.set_mask(states[0], more[0]);
  // What came out last, which under a mask may not be the last state.
  if (extra.has_mask && !returns_sequences_ && (extra.states > 0 || zeroes_masked_)) {
    const Shape &sequence = builder.shape(states[0]);
    const Shape last{sequence[0], sequence[2]};
    const Value step = builder.add(SliceOp{1, sequence[1] - 1, 1}, {states[0]});
    results[0] = builder.add(ReshapeOp{last}, {step});
  }
  if (returns_state_) results.insert(results.end(), states.begin() + 1, states.end());
  return results;
}

Lstm::Lstm(Fields &fields)
    : Recurrent(fields),
      recurrent_activation_(activation_of_cell(fields, "recurrent_activation", "sigmoid")) {
  if (fields.flag("unit_forget_bias", true))
    bias_.initializer = std::make_shared<ForgetBias>(bias_.initializer);
}

bool Lstm::is_of_gpus() const {
  return has_bias_ && activation_ == Activation::tanh &&
         recurrent_activation_ == Activation::sigmoid;
}

Gru::Gru(Fields &fields)
    : Recurrent(fields),
      recurrent_activation_(activation_of_cell(fields, "recurrent_activation", "sigmoid")),
      resets_after_(fields.flag("reset_after", true)) {}

bool Gru::is_of_gpus() const {
  return has_bias_ && resets_after_ && activation_ == Activation::tanh &&
         recurrent_activation_ == Activation::sigmoid;
}

Shape Gru::bias_shape() const {
  return resets_after_ ? Shape{2, 3 * units_} : Recurrent::bias_shape();
}

}  // namespace det::nn
