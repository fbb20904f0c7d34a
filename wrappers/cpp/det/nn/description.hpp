// Models as text, for det_nn_model_create().
#pragma once

#include <det/json.hpp>
#include <det/nn/layer.hpp>

#include <cctype>
#include <map>

namespace det {
inline namespace v1 {
namespace nn {
namespace detail {

// "max_pooling2d" for "MaxPooling2D".
[[nodiscard]] inline std::string snake_case(const std::string &class_name) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(class_name[i]); };
  std::string name;
  for (size_t i = 0; i < class_name.size(); ++i) {
    const bool begins_word = i > 0 && std::isupper(at(i)) != 0 &&
                             (std::islower(at(i - 1)) != 0 ||
                              (i + 1 < class_name.size() && std::islower(at(i + 1)) != 0 &&
                               std::isdigit(at(i - 1)) == 0));
    if (begins_word) name += '_';
    name += static_cast<char>(std::tolower(at(i)));
  }
  return name;
}

[[nodiscard]] inline std::string policy_field(const std::string &policy) {
  return policy.empty() ? "" : ", \"dtype\": " + ConfigValue::quoted(policy);
}

// Writes the layers of a functional model in an order in which they can be called.
class FunctionalWriter {
 public:
  std::string write(const std::vector<Value> &inputs, const std::vector<Value> &outputs,
                    const std::string &name, const std::string &policy) {
    for (const Value &input : inputs) place(input.node());
    const std::string ends = references(outputs);
    const std::string begins = references(inputs);
    std::string layers;
    for (const Described *layer : order_) {
      const Written &written = layers_.at(layer);
      Described named = *layer;
      named.set_field("name", ConfigValue::json(written.name));
      layers += (layers.empty() ? "" : ", ");
      layers += "{\"class_name\": " + ConfigValue::quoted(layer->class_name()) +
                ", \"name\": " + written.name + ", \"config\": " + named.config() +
                ", \"inbound_nodes\": [" + written.calls + "]}";
    }
    return "{\"class_name\": \"Functional\", \"config\": {\"name\": " + ConfigValue::quoted(name) +
           policy_field(policy) + ", \"layers\": [" + layers + "], \"input_layers\": " + begins +
           ", \"output_layers\": " + ends + "}}";
  }

 private:
  struct Written {
    std::string name;  // as JSON
    std::string calls;
    size_t count = 0;
  };

  // The name of the layer, and the number of the call that a node is.
  const std::pair<std::string, size_t> &place(const std::shared_ptr<const Value::Node> &node) {
    const auto known = nodes_.find(node.get());
    if (known != nodes_.end()) return known->second;
    std::string call = "[";
    for (const Value &input : node->inputs) {
      std::string arguments = "{";
      if (&input == &node->inputs.front()) {
        for (const auto &[key, value] : node->named)
          append(arguments, ConfigValue::quoted(key) + ": [" + reference(value) + "]");
        for (const auto &[key, value] : node->options)
          append(arguments, ConfigValue::quoted(key) + ": " + value);
      }
      append(call, "[" + reference(input) + ", " + arguments + "}]");
    }
    Written &written = layers_[node->layer.get()];
    if (written.name.empty()) {
      written.name = name_of(*node->layer);
      order_.push_back(node->layer.get());
    }
    if (!node->inputs.empty()) written.calls += (written.calls.empty() ? "" : ", ") + call + "]";
    return nodes_.emplace(node.get(), std::make_pair(written.name, written.count++)).first->second;
  }

  std::string name_of(const Described &layer) {
    if (const std::string given = layer.field("name"); !given.empty()) return given;
    const std::string name =
        layer.class_name() == "InputLayer" ? "input" : snake_case(layer.class_name());
    const size_t before = names_[name]++;
    if (name == "input") return ConfigValue::quoted(name + "_" + std::to_string(before + 1));
    return ConfigValue::quoted(before == 0 ? name : name + "_" + std::to_string(before));
  }

  std::string reference(const Value &value) {
    const auto &[layer, call] = place(value.node());
    return layer + ", " + std::to_string(call) + ", " + std::to_string(value.output_index());
  }
  std::string references(const std::vector<Value> &values) {
    std::string text = "[";
    for (const Value &value : values) append(text, "[" + reference(value) + "]");
    return text + "]";
  }
  static void append(std::string &list, const std::string &item) {
    list += (list.size() > 1 ? ", " : "") + item;
  }

  std::map<const Described *, Written> layers_;
  std::vector<const Described *> order_;
  std::map<const Value::Node *, std::pair<std::string, size_t>> nodes_;
  std::map<std::string, size_t> names_;
};

}  // namespace detail

// Layers in a row. `input_shape` is without the batch. Empty: the first batch decides. `policy` is
// for layers without .set("dtype", ...). "mixed_bfloat16" and "mixed_float16" compute in 16 bits
// with weights in float32. Empty: "float32".
[[nodiscard]] inline Json describe_sequential(const std::vector<Layer> &layers,
                                              const Shape &input_shape = {},
                                              const std::string &name = "sequential",
                                              const std::string &policy = {}) {
  std::string text;
  if (!input_shape.empty()) text = input(input_shape, "input_1").node()->layer->json();
  for (const Layer &layer : layers) text += (text.empty() ? "" : ", ") + layer.described().json();
  return "{\"class_name\": \"Sequential\", \"config\": {\"name\": " + ConfigValue::quoted(name) +
         detail::policy_field(policy) + ", \"layers\": [" + text + "]}}";
}

[[nodiscard]] inline Json describe_functional(const std::vector<Value> &inputs,
                                              const std::vector<Value> &outputs,
                                              const std::string &name = "model",
                                              const std::string &policy = {}) {
  return detail::FunctionalWriter().write(inputs, outputs, name, policy);
}

}  // namespace nn
}  // namespace v1
}  // namespace det
