#include "wrappers/nn/layers/layer.h"

#include <cctype>

#include "core/base/error.h"

namespace det::nn {

Layer::Layer(Fields &fields)
    : name_(fields.text("name")), is_trainable_(fields.flag("trainable", true)) {
  fields.any("dtype", "float32");
  fields.without_effect("batch_input_shape");
}

std::vector<Value> Layer::call(ProgramBuilder &builder, const LayerCall &call) const {
  const ProgramBuilder::Scope scope(builder, name_, "'" + name_ + "' (" + class_name_ + ")");
  return compute(builder, call);
}

Value Layer::weight(ProgramBuilder &builder, const std::string &name, const Shape &shape,
                    const std::shared_ptr<const Initializer> &initializer, bool is_state) const {
  return builder.weight(name, {shape, initializer, is_trainable_ && !is_state});
}

Value Layer::weight(ProgramBuilder &builder, const std::string &name, const Shape &shape,
                    const WeightStyle &style) const {
  return builder.weight(name, {shape, style.initializer, is_trainable_, style.regularizer});
}

bool Layer::is_training(const ProgramBuilder &builder, const LayerCall &call) {
  const auto said = call.options.find("training");
  const bool is_said = said != call.options.end() && said->is_boolean();
  return is_said ? said->get<bool>() : builder.is_training();
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
