#include "wrappers/nn/layers/layer.h"

#include <cctype>

#include "core/base/error.h"
#include "wrappers/nn/layers/policy.h"

namespace det::nn {

Layer::Layer(Fields &fields)
    : name_(fields.text("name")),
      is_trainable_(fields.flag("trainable", true)),
      precision_(read_policy(fields)) {
  fields.without_effect("batch_input_shape");
}

std::vector<Value> Layer::call(ProgramBuilder &builder, const LayerCall &call) const {
  return call_under(name_ + "/", builder, call);
}

std::vector<Value> Layer::call_within(ProgramBuilder &builder, const LayerCall &call) const {
  return call_under("", builder, call);
}

std::vector<Value> Layer::call_under(const std::string &path, ProgramBuilder &builder,
                                     const LayerCall &call) const {
  const Dtype precision = mixing_ == Mixing::nothing ? Dtype::f32 : precision_;
  const ProgramBuilder::Scope scope(builder, path, "'" + name_ + "' (" + class_name_ + ")",
                                    mixing_ == Mixing::everything ? precision : Dtype::f32);
  LayerCall mixed = call;
  if (mixing_ != Mixing::results) {
    for (Value &input : mixed.inputs) input = builder.rounded(input, precision);
    for (auto &[name, input] : mixed.named) input = builder.rounded(input, precision);
  }
  std::vector<Value> results = compute(builder, mixed);
  for (Value &result : results) {
    const auto mask = call.inputs.empty() ? std::nullopt : builder.mask(call.inputs[0]);
    if (mask && masking_ == Masking::passes) builder.set_mask(result, *mask);
    // What comes out as it came in would have its mask still.
    if (masking_ == Masking::loses && builder.mask(result))
      result = builder.add(ReshapeOp{Shape(builder.shape(result))}, {result});
    result = builder.rounded(result, precision);
    if (activity_) builder.regularize_activity(result, activity_);
  }
  return results;
}

Value Layer::weight(ProgramBuilder &builder, const std::string &name, const Shape &shape,
                    const std::shared_ptr<const Initializer> &initializer, bool is_state) const {
  const WeightOptions options{shape, initializer, is_trainable_ && !is_state};
  return builder.rounded(builder.weight(name, options), builder.precision());
}

Value Layer::weight(ProgramBuilder &builder, const std::string &name, const Shape &shape,
                    const WeightStyle &style) const {
  const WeightOptions options{shape, style.initializer, is_trainable_, style.regularizer,
                              style.constraint};
  return builder.rounded(builder.weight(name, options), builder.precision());
}

void Layer::read_activity_regularizer(Fields &fields) {
  activity_ = make_regularizer(fields.any("activity_regularizer"), fields.where());
}

bool Layer::is_training(const ProgramBuilder &builder, const LayerCall &call) {
  const auto said = call.options.find("training");
  const bool is_said = said != call.options.end() && said->is_boolean();
  return is_said ? said->get<bool>() : builder.is_training();
}

std::optional<Value> Layer::mask_of(ProgramBuilder &builder, const LayerCall &call) {
  if (const auto named = call.named.find("mask"); named != call.named.end())
    return builder.add(FunctionOp{Function::differs, 0}, {named->second});
  return builder.mask(call.inputs.at(0));
}

Value only_input(const LayerCall &call, const std::string &layer) {
  if (call.inputs.size() == 1) return call.inputs[0];
  throw Error(Code::invalid, "calling the layer '" + layer + "' with " +
                                 std::to_string(call.inputs.size()) + " inputs: it takes one");
}

std::string snake_case(const std::string &class_name) {
  std::string name;
  for (size_t i = 0; i < class_name.size(); ++i) {
    const auto letter = static_cast<unsigned char>(class_name[i]);
    const bool begins_word = std::isupper(letter) != 0 && i > 0 &&
                             (std::islower(static_cast<unsigned char>(class_name[i - 1])) != 0 ||
                              (i + 1 < class_name.size() &&
                               std::islower(static_cast<unsigned char>(class_name[i + 1])) != 0 &&
                               std::isdigit(static_cast<unsigned char>(class_name[i - 1])) == 0));
    if (begins_word) name += '_';
    name += static_cast<char>(std::tolower(letter));
  }
  return name;
}

}  // namespace det::nn
