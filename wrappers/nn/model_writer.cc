// Models as keras.models.model_from_json() reads them.
#include "wrappers/nn/graph.h"

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

Json Graph::described_layers() const {
  Json layers = Json::array();
  const bool is_sequential = class_name() == "Sequential";
  std::map<const Layer *, size_t> places;  // in `layers`
  std::vector<std::pair<std::string, size_t>>
      calls;  // of each node: its layer, and which call it is
  std::map<std::string, size_t> counts;
  const auto written = [&](const Reference &reference, Json arguments) {
    const auto &[layer, number] = calls.at(reference.node);
    Json entry = {layer, number, reference.output};
    if (!arguments.is_null()) entry.push_back(std::move(arguments));
    return entry;
  };
  for (const Node &node : nodes_) {
    const std::string name = node.layer ? node.layer->name() : inputs_.at(calls.size()).name;
    if (!node.layer) {
      const Input &input = inputs_[calls.size()];
      if (input.is_known) layers.push_back(input_layer(input));
      if (!is_sequential) layers.back().update({{"name", name}, {"inbound_nodes", Json::array()}});
    } else if (is_sequential) {
      layers.push_back(
          {{"class_name", node.layer->class_name()}, {"config", node.layer->config()}});
    } else {
      if (places.emplace(node.layer.get(), layers.size()).second)
        layers.push_back({{"class_name", node.layer->class_name()},
                          {"config", node.layer->config()},
                          {"name", name},
                          {"inbound_nodes", Json::array()}});
      Json arguments = node.options;
      for (const auto &[key, value] : node.named) arguments[key] = written(value, Json());
      Json inbound = Json::array();
      for (const Reference &input : node.inputs)
        inbound.push_back(written(input, inbound.empty() ? arguments : Json::object()));
      layers[places[node.layer.get()]]["inbound_nodes"].push_back(inbound);
    }
    const size_t first = node.layer ? first_call_of(*node.layer) : 0;
    calls.emplace_back(name, first + counts[name]++);
  }
  return layers;
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
