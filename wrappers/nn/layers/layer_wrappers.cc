#include "wrappers/nn/layers/layer_wrappers.h"

#include "core/base/error.h"
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
}

std::vector<Value> TimeDistributed::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = only_input(call, name());
  const Shape shape = builder.shape(x);
  if (shape.size() < 3)
    throw Error(Code::invalid, "calling the layer '" + name() +
                                   "' (TimeDistributed) with an input of " + text_of(shape) +
                                   ": it needs an axis of steps and one of features beside that "
                                   "of the batch");
  Shape steps(shape.begin() + 1, shape.end());
  steps[0] = elements_of({shape[0], shape[1]});
  LayerCall inner;
  inner.inputs = {builder.add(ReshapeOp{steps}, {x})};
  inner.options = call.options;
  std::vector<Value> results = layer_->call_within(builder, inner);
  for (Value &result : results) {
    Shape together = builder.shape(result);
    together[0] = shape[1];
    together.insert(together.begin(), shape[0]);
    result = builder.add(ReshapeOp{together}, {result});
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
  for (const Recurrent *direction : {&one, &other})
    if (direction->returns_state())
      throw Error(Code::unsupported, "reading " + fields.where() +
                                         ": 'return_state' of a layer in both directions is not "
                                         "supported");
  if (one.returns_sequences() != other.returns_sequences() ||
      one.goes_backwards() == other.goes_backwards())
    throw Error(Code::invalid, "reading " + fields.where() +
                                   ": its two layers must have the same 'return_sequences', and "
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

std::vector<Value> Bidirectional::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value forward = forward_->call(builder, call).at(0);
  Value backward = backward_->call(builder, call).at(0);
  // Back in the order of the steps.
  if (returns_sequences_) backward = builder.add(ReverseOp{1}, {backward});
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
