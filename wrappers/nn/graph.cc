#include "wrappers/nn/graph.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "wrappers/nn/functional_reader.h"
#include "wrappers/nn/keras_versions.h"
#include "wrappers/nn/layers/policy.h"

namespace det::nn {

namespace {

// What the numbers of an input become: whole ones are of I32 here, whatever holds them in Keras.
Dtype dtype_from(const std::string &name, const std::string &where) {
  if (name == "float32") return Dtype::f32;
  for (const char *whole : {"int32", "int64", "bool", "int16", "int8", "uint8"})
    if (name == whole) return Dtype::i32;
  if (name == "string")
    throw Error(
        Code::unsupported,
        "reading " + where +
            ": it takes texts, and models take numbers; give numbers of words or categories");
  throw Error(Code::unsupported, "reading " + where + ": inputs of the dtype '" + name +
                                     "' are not supported; float32, bool and whole numbers are");
}

}  // namespace

Graph::Graph(Fields &fields, Kind kind) : Layer(fields) {
  set_mixing(Mixing::nothing);
  set_masking(Masking::by_itself);
  fields.without_effect("build_input_shape");
  if (kind == Kind::sequential) read_sequential(fields);
  else FunctionalReader(*this, fields).read();
}

void Graph::add_input(const Json &config, const std::string &where) {
  Fields fields(config, where);
  ArrayType type;
  type.shape = fields.shape("batch_input_shape");
  const std::string dtype = fields.text("dtype", "float32");
  type.dtype = dtype_from(dtype, where);
  fields.only("sparse", false);
  fields.only("ragged", false);
  inputs_.push_back({fields.text("name"), type, dtype, true});
  fields.finish();
  nodes_.push_back({});
}

void Graph::read_sequential(Fields &fields) {
  const Json &layers = fields.any("layers", Json::array());
  std::map<std::string, size_t> taken;
  std::set<std::string> names;
  for (const Json &given : layers) {
    Fields layer(given, "a layer of " + fields.where());
    const std::string class_name = layer.text("class_name");
    Json config = layer.any("config", Json::object());
    if (config.is_object() && !config.contains("name")) {
      std::string name = snake_case(class_name);
      if (const size_t before = taken[name]++; before > 0) name += "_" + std::to_string(before);
      config["name"] = name;
    }
    if (nodes_.empty()) {
      if (class_name == "InputLayer") {
        add_input(config, "the input of " + fields.where());
        continue;
      }
      if (config.contains("batch_input_shape")) {
        const Json dtype = class_name == "Embedding" ? "int32" : "float32";
        add_input(
            {{"batch_input_shape", config["batch_input_shape"]},
             {"dtype", dtype},
             {"name", Fields(config, "a layer of " + fields.where()).text("name") + "_input"}},
            "the input of " + fields.where());
      } else {
        inputs_.push_back({"input_1", {}, "float32", false});
        nodes_.push_back({});
      }
    }
    const auto made = make_layer(
        {{"class_name", class_name}, {"config", with_policy_of(fields, std::move(config))}});
    if (!names.insert(made->name()).second)
      throw Error(Code::invalid, "reading " + fields.where() + ": two layers have the name '" +
                                     made->name() + "'");
    layers_.push_back(made);
    nodes_.push_back({made, 0, {{nodes_.size() - 1, 0}}, {}, Json::object()});
  }
  if (layers_.empty())
    throw Error(Code::invalid, "reading " + fields.where() + ": it has no layers");
  results_ = {{nodes_.size() - 1, 0}};
}

std::optional<std::vector<Shape>> Graph::input_shapes(int64_t records, int64_t open) const {
  std::vector<Shape> shapes;
  for (const Input &input : inputs_) {
    Shape shape = input.type.shape;
    if (!shape.empty() && shape[0] == unknown) shape[0] = records;
    std::replace(shape.begin(), shape.end(), unknown, open);
    if (!input.is_known || !nn::is_known(shape)) return {};
    shapes.push_back(shape);
  }
  return shapes;
}

std::vector<std::string> Graph::result_names() const {
  std::vector<std::string> names;
  for (const Reference &result : results_) names.push_back(name_of(result.node));
  return names;
}

// Inputs are the first nodes.
const std::string &Graph::name_of(size_t node) const {
  const auto &layer = nodes_.at(node).layer;
  return layer ? layer->name() : inputs_.at(node).name;
}

bool Graph::computes_in(Dtype dtype) const {
  return std::any_of(layers_.begin(), layers_.end(),
                     [dtype](const auto &layer) { return layer->computes_in(dtype); });
}

std::string Graph::described_inputs(const Node &node, const ProgramBuilder &builder,
                                    const LayerCall &call) const {
  std::string text;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Node &from = nodes_.at(node.inputs[i].node);
    text +=
        (i == 0 ? "; it was given " : ", ") + text_of(builder.shape(call.inputs[i])) + " by " +
        (from.layer ? "the layer '" + from.layer->name() + "' (" + from.layer->class_name() + ")"
                    : "the input '" + name_of(node.inputs[i].node) + "'");
  }
  return text;
}

LayerCall Graph::feed(ProgramBuilder &builder, const std::vector<Shape> &shapes) const {
  LayerCall call;
  for (size_t i = 0; i < shapes.size(); ++i)
    call.inputs.push_back(builder.feed({shapes[i], inputs_.at(i).type.dtype}));
  return call;
}

Graph::Called Graph::called(size_t node, const std::vector<Value> &values) const {
  Called called{nodes_.at(node).layer.get(), name_of(node), values, {}};
  for (const Reference &from : nodes_[node].inputs) called.called_on.push_back(name_of(from.node));
  for (const auto &[argument, from] : nodes_[node].named)
    called.called_on.push_back(name_of(from.node));
  return called;
}

std::vector<Value> Graph::compute(ProgramBuilder &builder, const LayerCall &call,
                                  const std::function<void(const Called &)> &on_called) const {
  if (call.inputs.size() != inputs_.size())
    throw Error(Code::invalid, "calling the model '" + name() + "' with " +
                                   std::to_string(call.inputs.size()) + " inputs: it takes " +
                                   std::to_string(inputs_.size()));
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (builder.shape(call.inputs[i]).empty())
      throw Error(Code::invalid, "calling the model '" + name() +
                                     "': what is given to its input '" + inputs_[i].name +
                                     "' is a single number, not a batch");
  std::vector<std::vector<Value>> values;
  const auto value_of = [&](const Reference &reference) {
    const std::vector<Value> &outputs = values.at(reference.node);
    if (reference.output >= outputs.size())
      throw Error(Code::invalid, "reading the model '" + this->name() + "': it uses output " +
                                     std::to_string(reference.output) + " of the layer '" +
                                     name_of(reference.node) + "', which has " +
                                     std::to_string(outputs.size()));
    return outputs[reference.output];
  };
  for (const Node &node : nodes_) {
    LayerCall inner;
    for (const Reference &input : node.inputs) inner.inputs.push_back(value_of(input));
    for (const auto &[name, input] : node.named) inner.named.emplace(name, value_of(input));
    inner.options = node.options;
    try {
      if (node.layer) values.push_back(node.layer->call(builder, inner));
      else values.push_back({call.inputs.at(values.size())});
    } catch (const Error &refusal) {
      // A model within this one has said it of its own layers.
      if (refusal.code != Code::invalid || dynamic_cast<const Graph *>(node.layer.get()) != nullptr)
        throw;
      throw Error(refusal.code, refusal.what() + described_inputs(node, builder, inner));
    }
    if (on_called) on_called(called(values.size() - 1, values.back()));
  }
  std::vector<Value> results;
  for (const Reference &result : results_) results.push_back(value_of(result));
  return results;
}

std::shared_ptr<Graph> read_model(const Json &described) {
  Json named = as_keras_2(described);
  if (named.is_object() && named.contains("config") && named["config"].is_object() &&
      !named["config"].contains("name"))
    named["config"]["name"] = "model";
  if (auto graph = std::dynamic_pointer_cast<Graph>(make_layer(named))) return graph;
  throw Error(Code::invalid,
              "reading a model: what is described is a single layer; a model is "
              "Sequential or Functional");
}

}  // namespace det::nn
