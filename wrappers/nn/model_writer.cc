// Models as keras.models.model_from_json() reads them.
#include <set>

#include "wrappers/nn/graph.h"
#include "wrappers/nn/layers/function_layer.h"

namespace det::nn {

namespace {

Json input_layer(const Graph::Input &input) {
  Json sizes = Json::array();
  for (const int64_t size : input.type.shape)
    sizes.push_back(size == unknown ? Json() : Json(size));
  return {{"class_name", "InputLayer"},
          {"config",
           {{"batch_input_shape", sizes},
            {"dtype", input.dtype},
            {"sparse", false},
            {"ragged", false},
            {"name", input.name}}}};
}

}  // namespace

// In the order in which they are in the file that was read, so that what is written is read as the
// same again: the order of calls follows from it.
Json Graph::described_layers() const {
  Json layers = Json::array();
  const bool is_sequential = class_name() == "Sequential";
  for (const Input &input : inputs_) {
    if (input.is_known) layers.push_back(input_layer(input));
    if (!is_sequential)
      layers.back().update({{"name", input.name}, {"inbound_nodes", Json::array()}});
  }
  std::map<const Layer *, size_t> places;  // in `layers`
  std::set<const Layer *> called;
  for (const Node &node : nodes_) called.insert(node.layer.get());
  for (const auto &layer : layers_) {
    if (called.count(layer.get()) == 0) continue;
    places.emplace(layer.get(), layers.size());
    layers.push_back({{"class_name", layer->class_name()}, {"config", layer->config()}});
    if (!is_sequential)
      layers.back().update({{"name", layer->name()}, {"inbound_nodes", Json::array()}});
  }
  if (!is_sequential)
    for (const Node &node : nodes_)
      if (node.layer)
        layers[places.at(node.layer.get())]["inbound_nodes"]
              [node.number - first_call_of(*node.layer)] = described_call(node);
  return layers;
}

Json Graph::described_call(const Node &node) const {
  const auto written = [&](const Reference &reference) {
    return Json{name_of(reference.node), nodes_[reference.node].number, reference.output};
  };
  Json arguments = node.options;
  for (const auto &[key, value] : node.named) arguments[key] = written(value);
  Json inbound = Json::array();
  if (const auto constant = arguments.find(FunctionLayer::constant_argument);
      constant != arguments.end()) {
    inbound = {FunctionLayer::constant_argument, -1, *constant};
    arguments.erase(FunctionLayer::constant_argument);
    inbound.push_back(arguments);
  }
  for (const Reference &input : node.inputs) {
    inbound.push_back(written(input));
    inbound.back().push_back(arguments);  // Keras takes those of the last
  }
  // A function takes what it is given as it stands: of a list around an array it would make one.
  const bool is_function = dynamic_cast<const FunctionLayer *>(node.layer.get()) != nullptr;
  if (is_function && node.inputs.size() == 1 &&
      node.layer->config().at("function") != Json("concat"))
    return inbound[0];
  return inbound;
}

Json write_model(const Graph &graph) {
  Json config = graph.config();
  config["layers"] = graph.described_layers();
  return {{"class_name", graph.class_name()},
          {"config", config},
          {"keras_version", "2.15.0"},
          {"backend", "tensorflow"}};
}

}  // namespace det::nn
