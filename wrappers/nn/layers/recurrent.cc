// LSTM, GRU and SimpleRNN, which go from state to state along the axis behind the batch, and the
// layers that call another one for each step or in both directions.
#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/configuration/named_config.h"
#include "wrappers/nn/layers/activation_layers.h"
#include "wrappers/nn/layers/dropout.h"
#include "wrappers/nn/layers/layer_table.h"
#include "wrappers/nn/layers/merging.h"
#include "wrappers/nn/layers/policy.h"

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

// What all of them are configured with.
class Recurrent : public Layer {
 public:
  bool returns_sequences() const { return returns_sequences_; }
  bool returns_state() const { return returns_state_; }
  bool goes_backwards() const { return goes_backwards_; }

 protected:
  explicit Recurrent(Fields &fields)
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
      throw Error(
          Code::unsupported,
          "reading " + fields.where() +
              ": 'stateful' is true, and no state is kept from batch to batch; call it with "
              "the states before, and return_state, in a functional model");
    for (const char *key : {"stateful", "time_major"}) fields.only(key, false);
  }

  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
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

  // The operation, and how its weights are.
  virtual Operation operation(const GateDropout &dropout, const RecurrentExtras &extras) const = 0;
  // How many kinds of states it has.
  virtual size_t kinds() const { return 1; }
  // Whether Keras computes it as one function of the whole input, as GPUs have it.
  virtual bool is_of_gpus() const { return false; }
  virtual int64_t gates() const = 0;
  virtual const char *cell() const = 0;  // "lstm_cell", as Keras names it
  virtual Shape bias_shape() const { return {gates() * units_}; }

  const int64_t units_;
  const Activation activation_;
  const bool goes_backwards_;
  WeightStyle bias_;
  const bool has_bias_;

 private:
  // What is left out of x before the operation; x where that is nothing.
  // Elements of their own at each step, where Keras drops them from the whole input; else whole
  // features of a record.
  Value dropped(ProgramBuilder &builder, Value x) const {
    if (dropout_ == 0 || drops_by_gates()) return x;
    return builder.add(DropoutOp{dropout_, is_unrolled_ || !is_of_gpus()}, {x});
  }
  // Whether each gate leaves out something else.
  // As it is in Keras.
  bool drops_by_gates() const {
    if (recurrent_dropout_ > 0) return true;
    return dropout_ > 0 && gates() > 1 && has_gates_apart_ && (is_unrolled_ || !is_of_gpus());
  }

  // What comes in beside x: the mask that it has or is called with, and states to begin with.
  std::vector<Value> extras(ProgramBuilder &builder, const LayerCall &call,
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

  const bool returns_sequences_, returns_state_, is_unrolled_;
  const WeightStyle kernel_, recurrent_;
  const float dropout_, recurrent_dropout_;
  const bool has_gates_apart_;  // Keras' implementation 1
  const bool zeroes_masked_;
};

class Lstm : public Recurrent {
 public:
  explicit Lstm(Fields &fields)
      : Recurrent(fields),
        recurrent_activation_(activation_of_cell(fields, "recurrent_activation", "sigmoid")) {
    if (fields.flag("unit_forget_bias", true))
      bias_.initializer = std::make_shared<ForgetBias>(bias_.initializer);
  }

 private:
  Operation operation(const GateDropout &dropout, const RecurrentExtras &extras) const override {
    return LstmOp{activation_, recurrent_activation_, goes_backwards_, dropout, extras};
  }
  bool is_of_gpus() const override {
    return has_bias_ && activation_ == Activation::tanh &&
           recurrent_activation_ == Activation::sigmoid;
  }
  size_t kinds() const override { return 2; }
  int64_t gates() const override { return 4; }
  const char *cell() const override { return "lstm_cell"; }

  const Activation recurrent_activation_;
};

class Gru : public Recurrent {
 public:
  explicit Gru(Fields &fields)
      : Recurrent(fields),
        recurrent_activation_(activation_of_cell(fields, "recurrent_activation", "sigmoid")),
        resets_after_(fields.flag("reset_after", true)) {}

 private:
  Operation operation(const GateDropout &dropout, const RecurrentExtras &extras) const override {
    return GruOp{activation_, recurrent_activation_, goes_backwards_, resets_after_, dropout,
                 extras};
  }
  bool is_of_gpus() const override {
    return has_bias_ && resets_after_ && activation_ == Activation::tanh &&
           recurrent_activation_ == Activation::sigmoid;
  }
  int64_t gates() const override { return 3; }
  const char *cell() const override { return "gru_cell"; }
  Shape bias_shape() const override {
    return resets_after_ ? Shape{2, 3 * units_} : Recurrent::bias_shape();
  }

  const Activation recurrent_activation_;
  const bool resets_after_;
};

class SimpleRnn : public Recurrent {
 public:
  explicit SimpleRnn(Fields &fields) : Recurrent(fields) {}

 private:
  Operation operation(const GateDropout &dropout, const RecurrentExtras &extras) const override {
    return SimpleRnnOp{activation_, goes_backwards_, dropout, extras};
  }
  int64_t gates() const override { return 1; }
  const char *cell() const override { return "simple_rnn_cell"; }
};

// The layer that a field describes, with a name where it has none.
Json described_layer(Fields &fields, const char *key) {
  Json described = fields.any(key);
  if (!described.is_object() || !described.contains("class_name") ||
      !described["class_name"].is_string())
    throw Error(Code::invalid, "reading " + fields.where() + ": '" + key +
                                   "' is no layer with a \"class_name\" and a \"config\"");
  Json &config = described["config"];
  if (config.is_null()) config = Json::object();
  if (config.is_object() && !config.contains("name"))
    config["name"] = snake_case(described["class_name"].get<std::string>());
  config = with_policy_of(fields, std::move(config));
  return described;
}

std::shared_ptr<Layer> make_direction(Json described, const std::string &direction,
                                      bool changes_direction, const std::string &where) {
  Json &config = described["config"];
  if (config.is_object() && config["name"].is_string())
    config["name"] = direction + config["name"].get<std::string>();
  if (changes_direction && config.is_object()) {
    const bool before = config.value("go_backwards", Json(false)) == Json(true);
    config["go_backwards"] = !before;
  }
  // Steps that do not count are zeros in both directions.
  if (config.is_object() && config.contains("units"))
    config["zero_output_for_mask"] = config.value("return_sequences", Json(false)) == Json(true);
  std::shared_ptr<Layer> layer = make_layer(described);
  if (std::dynamic_pointer_cast<Recurrent>(layer) == nullptr)
    throw Error(Code::unsupported, "reading " + where + ": a layer of the class '" +
                                       layer->class_name() +
                                       "' in both directions is not supported; LSTM, GRU and "
                                       "SimpleRNN are");
  return layer;
}

// The same layer for each step of a sequence, with the same weights.
class TimeDistributed : public Layer {
 public:
  explicit TimeDistributed(Fields &fields)
      : Layer(fields), layer_(make_layer(described_layer(fields, "layer"))) {
    set_mixing(Mixing::nothing);
    set_masking(Masking::by_itself);
  }

  bool computes_in(Dtype dtype) const override { return layer_->computes_in(dtype); }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = only_input(call, name());
    const Shape shape = builder.shape(x);
    if (shape.size() < 3)
      throw Error(Code::invalid, "calling the layer '" + name() +
                                     "' (TimeDistributed) with an input of " + text_of(shape) +
                                     ": it needs an axis of steps and one of features beside that "
                                     "of the batch");
    // It looks along the last axis alone, however many there are; only what it adds to the loss is
    // divided by the steps as well.
    const bool is_dense = layer_->class_name() == "Dense";
    if (is_dense && layer_->config().value("activity_regularizer", Json()).is_null())
      return layer_->call_within(builder, call);
    Shape steps(shape.begin() + 1, shape.end());
    steps[0] = elements_of({shape[0], shape[1]});
    LayerCall inner;
    inner.inputs = {builder.add(ReshapeOp{steps}, {x})};
    inner.options = call.options;
    const auto mask = builder.mask(x);
    // What counts within each step.
    if (mask && builder.shape(*mask).size() > 2) {
      const Shape &of_all = builder.shape(*mask);
      Shape of_steps(of_all.begin() + 1, of_all.end());
      of_steps[0] = steps[0];
      builder.set_mask(inner.inputs[0], builder.add(ReshapeOp{of_steps}, {*mask}));
    }
    std::vector<Value> results = layer_->call_within(builder, inner);
    const auto together = [&](Value value) {
      Shape joined = builder.shape(value);
      joined[0] = shape[1];
      joined.insert(joined.begin(), shape[0]);
      return builder.add(ReshapeOp{joined}, {value});
    };
    for (Value &result : results) {
      const auto inner_mask = builder.mask(result);
      result = together(result);
      if (inner_mask) builder.set_mask(result, together(*inner_mask));
      else if (mask) builder.set_mask(result, any_of(builder, *mask, 2));
    }
    return results;
  }

 private:
  const std::shared_ptr<Layer> layer_;
};

// A recurrent layer from the first step to the last, and another from the last to the first.
class Bidirectional : public Layer {
 public:
  explicit Bidirectional(Fields &fields) : Layer(fields) {
    const Json forward = described_layer(fields, "layer");
    const bool has_backward = fields.has("backward_layer");
    forward_ = make_direction(forward, "forward_", false, fields.where());
    backward_ = has_backward ? make_direction(described_layer(fields, "backward_layer"),
                                              "backward_", false, fields.where())
                             : make_direction(forward, "backward_", true, fields.where());
    const auto &one = dynamic_cast<const Recurrent &>(*forward_);
    const auto &other = dynamic_cast<const Recurrent &>(*backward_);
    set_masking(Masking::by_itself);
    if (one.returns_sequences() != other.returns_sequences() ||
        one.returns_state() != other.returns_state() ||
        one.goes_backwards() == other.goes_backwards())
      throw Error(Code::invalid, "reading " + fields.where() +
                                     ": its two layers must have the same 'return_sequences' and "
                                     "'return_state', and "
                                     "another 'go_backwards' each");
    returns_sequences_ = one.returns_sequences();
    const Json &mode = fields.any("merge_mode", "concat");
    const std::map<Json, Merge> modes{{nullptr, Merge::none},
                                      {"ave", Merge::average},
                                      {"concat", Merge::concatenate},
                                      {"mul", Merge::multiply},
                                      {"sum", Merge::sum}};
    const auto known = modes.find(mode);
    if (known == modes.end())
      throw Error(Code::invalid, "reading " + fields.where() + ": there is no 'merge_mode' " +
                                     to_wire(mode).substr(0, 60) +
                                     suggestion("", {"ave", "concat", "mul", "sum", "null"}));
    merge_ = known->second;
  }

  bool computes_in(Dtype dtype) const override {
    return forward_->computes_in(dtype) || backward_->computes_in(dtype);
  }

 protected:
  // Half of the states to begin with are of one direction, and so are those at the end.
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const size_t states = call.inputs.empty() ? 0 : call.inputs.size() - 1;
    LayerCall ahead = call, back = call;
    if (states % 2 != 0)
      throw Error(Code::invalid, "calling the layer '" + name() + "' (Bidirectional) with " +
                                     std::to_string(states) +
                                     " states to begin with: each direction takes as many");
    if (states > 0) {
      const auto middle = static_cast<std::ptrdiff_t>(1 + states / 2);
      ahead.inputs.erase(ahead.inputs.begin() + middle, ahead.inputs.end());
      back.inputs.erase(back.inputs.begin() + 1, back.inputs.begin() + middle);
    }
    const std::vector<Value> forward = forward_->call(builder, ahead);
    std::vector<Value> backward = backward_->call(builder, back);
    // Back in the order of the steps.
    if (returns_sequences_) backward[0] = builder.add(ReverseOp{1}, {backward[0]});
    std::vector<Value> results = merged_directions(builder, forward[0], backward[0]);
    if (const auto mask = builder.mask(forward[0]))
      for (const Value result : results) builder.set_mask(result, *mask);
    results.insert(results.end(), forward.begin() + 1, forward.end());
    results.insert(results.end(), backward.begin() + 1, backward.end());
    return results;
  }

 private:
  std::vector<Value> merged_directions(ProgramBuilder &builder, Value forward,
                                       Value backward) const {
    switch (merge_) {
      case Merge::none:
        return {forward, backward};
      case Merge::concatenate:
        return {builder.add(ConcatenateOp{builder.shape(forward).size() - 1}, {forward, backward})};
      case Merge::multiply:
        return {builder.add(ArithmeticOp{Arithmetic::multiply}, {forward, backward})};
      case Merge::sum:
      case Merge::average:
        break;
    }
    const Value sum = builder.add(ArithmeticOp{Arithmetic::add}, {forward, backward});
    return {merge_ == Merge::sum ? sum : builder.add(ScaleOp{0.5F}, {sum})};
  }

  enum class Merge { none, concatenate, sum, multiply, average };

  std::shared_ptr<Layer> forward_, backward_;
  bool returns_sequences_ = false;
  Merge merge_ = Merge::concatenate;
};

}  // namespace

LayerTable recurrent_layers() {
  return {
      {"Bidirectional", making<Bidirectional>()},
      {"GRU", making<Gru>()},
      {"LSTM", making<Lstm>()},
      {"SimpleRNN", making<SimpleRnn>()},
      {"TimeDistributed", making<TimeDistributed>()},
  };
}

}  // namespace det::nn
