#include "wrappers/nn/layers/layer_wrappers.h"

#include "core/base/error.h"
#include "wrappers/nn/layers/dense.h"
#include "wrappers/nn/layers/embedding.h"
#include "wrappers/nn/layers/policy.h"
#include "wrappers/nn/layers/recurrent.h"
#include "wrappers/nn/near_name.h"

namespace det::nn {

namespace {

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

}  // namespace

TimeDistributed::TimeDistributed(Fields &fields)
    : Layer(fields), layer_(make_layer(described_layer(fields, "layer"))) {
  set_mixing(Mixing::nothing);
  set_masking(Masking::by_itself);
}

std::vector<Value> TimeDistributed::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = only_input(call, name());
  const Shape shape = builder.shape(x);
  if (shape.size() < 3)
    throw Error(Code::invalid, "calling the layer '" + name() +
                                   "' (TimeDistributed) with an input of " + text_of(shape) +
                                   ": it needs an axis of steps and one of features beside that "
                                   "of the batch");
  // It looks along the last axis alone, however many there are; only what it adds to the loss is
  // divided by the steps as well.
  const bool is_dense = dynamic_cast<const Dense *>(layer_.get()) != nullptr;
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

Bidirectional::Bidirectional(Fields &fields) : Layer(fields) {
  const Json forward = described_layer(fields, "layer");
  const bool has_backward = fields.has("backward_layer");
  forward_ = make_direction(forward, "forward_", false, fields.where());
  backward_ = has_backward ? make_direction(described_layer(fields, "backward_layer"), "backward_",
                                            false, fields.where())
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

// Half of the states to begin with are of one direction, and so are those at the end.
std::vector<Value> Bidirectional::compute(ProgramBuilder &builder, const LayerCall &call) const {
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

std::vector<Value> Bidirectional::merged_directions(ProgramBuilder &builder, Value forward,
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

}  // namespace det::nn
