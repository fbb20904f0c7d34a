#include "wrappers/nn/functional_reader.h"

#include "core/base/error.h"
#include "wrappers/nn/layers/function_layer.h"
#include "wrappers/nn/layers/policy.h"

namespace det::nn {

namespace {

// A layer, the number of a call of it, and one of what that gave.
bool is_reference(const Json &value) {
  const auto is_count = [](const Json &one) {
    return one.is_number_integer() && one.get<int64_t>() >= 0;
  };
  return value.is_array() && value.size() >= 3 && value[0].is_string() && is_count(value[1]) &&
         is_count(value[2]);
}

// A number in the place of one.
bool is_constant(const Json &value) {
  return value.is_array() && value.size() >= 3 &&
         value[0] == Json(FunctionLayer::constant_argument);
}

}  // namespace

void Graph::FunctionalReader::refuse(const std::string &problem) const {
  throw Error(Code::invalid, "reading " + fields_.where() + ": " + problem);
}

void Graph::FunctionalReader::read() {
  const Json &layers = fields_.any("layers");
  if (!layers.is_array()) refuse("'layers' is no array");
  read_inputs(layers);
  read_layers(layers);
  for (Call *call : written_) place_after_what_it_needs(*call);
  for (const Json &result : references_in(fields_.any("output_layers"))) {
    const auto found = find(result);
    if (!found) refuse("an output comes from a layer that is not there");
    graph_.results_.push_back(*found);
  }
  if (graph_.results_.empty()) refuse("it has no outputs");
}

// In the order of "input_layers", which is that in which arrays are given.
void Graph::FunctionalReader::read_inputs(const Json &layers) {
  for (const Json &input : references_in(fields_.any("input_layers"))) {
    for (const Json &layer : layers) {
      if (!layer.is_object() || layer.value("class_name", Json()) != Json("InputLayer") ||
          layer.value("name", Json()) != input[0])
        continue;
      const auto name = input[0].get<std::string>();
      if (nodes_.count({name, 0}) > 0) refuse("two inputs have the name '" + name + "'");
      nodes_[{name, 0}] = graph_.nodes_.size();
      graph_.add_input(layer.value("config", Json()), "the input '" + name + "'");
    }
  }
  if (graph_.inputs_.empty()) refuse("it has no inputs");
}

void Graph::FunctionalReader::read_layers(const Json &layers) {
  for (const Json &described : layers) {
    Fields layer(described, "a layer of " + fields_.where());
    if (layer.text("class_name") == "InputLayer") continue;
    const std::string name = layer.text("name");
    Json config = layer.any("config", Json::object());
    if (config.is_object() && !config.contains("name")) config["name"] = name;
    if (layers_.count(name) > 0 || nodes_.count({name, 0}) > 0)
      refuse("two layers have the name '" + name + "'");
    layers_[name] = make_layer({{"class_name", layer.text("class_name")},
                                {"config", with_policy_of(fields_, std::move(config))}});
    graph_.layers_.push_back(layers_[name]);
    const auto inbound = described.find("inbound_nodes");
    if (inbound == described.end() || !inbound->is_array()) continue;
    size_t number = first_call_of(*layers_[name]);
    for (const Json &call : *inbound) {
      const auto made = calls_.emplace(Place{name, number}, read_call(name, number, call));
      written_.push_back(&made.first->second);
      ++number;
    }
  }
}

Graph::FunctionalReader::Call Graph::FunctionalReader::read_call(const std::string &layer,
                                                                 size_t number,
                                                                 const Json &inbound) const {
  const bool is_function = dynamic_cast<const FunctionLayer *>(layers_.at(layer).get()) != nullptr;
  const bool has_constant = is_function && is_constant(inbound);
  Call call{layer, number, has_constant ? std::vector<Json>{inbound} : references_in(inbound)};
  std::vector<Json> states;  // which come behind the input
  for (const Json &input : call.inputs) {
    if (input.size() < 4 || !input[3].is_object()) continue;
    Fields arguments(input[3], "a call of the layer '" + layer + "'");
    for (const auto &[key, given] : input[3].items()) {
      const Json &value = arguments.any(key.c_str());
      if (!value.is_array() || (is_function && !is_reference(value))) {
        call.options[key] = value;
        continue;
      }
      const std::vector<Json> named = references_in(value);
      if (key == "initial_state") {
        states.insert(states.end(), named.begin(), named.end());
        continue;
      }
      if (named.size() != 1)
        refuse("'" + key + "' of the layer '" + layer + "' is no single array");
      call.named.emplace(key, named[0]);
    }
  }
  call.inputs.insert(call.inputs.end(), states.begin(), states.end());
  if (has_constant) {
    const Json given{{FunctionLayer::constant_argument, inbound[2]}};
    call.options[FunctionLayer::constant_argument] =
        Fields(given, "a call of the layer '" + layer + "'").any(FunctionLayer::constant_argument);
    call.inputs.clear();
  }
  return call;
}

// Without recursion: chains are as long as a file has layers.
void Graph::FunctionalReader::place_after_what_it_needs(Call &first) {
  std::vector<Call *> waiting;  // each for the next
  const auto wait_for = [&](Call &call) {
    call.is_waiting = true;
    for (const Json &input : call.inputs) call.waits_for.push_back(&input);
    for (const auto &[name, input] : call.named) call.waits_for.push_back(&input);
    waiting.push_back(&call);
  };
  if (nodes_.count({first.layer, first.number}) == 0) wait_for(first);
  while (!waiting.empty()) {
    Call &call = *waiting.back();
    while (!call.waits_for.empty() && nodes_.count(place_of(*call.waits_for.back())) > 0)
      call.waits_for.pop_back();
    if (call.waits_for.empty()) {
      place(call);
      waiting.pop_back();
      continue;
    }
    const auto needed = calls_.find(place_of(*call.waits_for.back()));
    if (needed == calls_.end() || needed->second.is_waiting)
      refuse("the layer '" + call.layer + "' is called on what is not there, or waits for itself");
    wait_for(needed->second);
  }
}

void Graph::FunctionalReader::place(const Call &call) {
  Node node;
  node.layer = layers_.at(call.layer);
  node.number = call.number;
  node.options = call.options;
  for (const Json &input : call.inputs) node.inputs.push_back(*find(input));
  for (const auto &[name, input] : call.named) node.named.emplace(name, *find(input));
  nodes_[{call.layer, call.number}] = graph_.nodes_.size();
  graph_.nodes_.push_back(std::move(node));
}

Graph::FunctionalReader::Place Graph::FunctionalReader::place_of(const Json &reference) {
  return {reference[0].get<std::string>(), reference[1].get<size_t>()};
}

std::optional<Graph::Reference> Graph::FunctionalReader::find(const Json &reference) const {
  const auto node = nodes_.find(place_of(reference));
  if (node == nodes_.end()) return std::nullopt;
  return Reference{node->second, reference[2].get<size_t>()};
}

// A single reference may stand without the list around it, and an object has names for them: they
// are taken in the order of the names, as Keras does.
std::vector<Json> Graph::FunctionalReader::references_in(const Json &list) const {
  if (is_reference(list)) return {list};
  std::vector<Json> references;
  if (list.is_object()) {
    std::map<std::string, Json> sorted;
    for (const auto &[key, value] : list.items()) sorted.emplace(key, value);
    for (const auto &[key, value] : sorted) references.push_back(value);
  }
  if (list.is_array()) references.assign(list.begin(), list.end());
  for (const Json &reference : references)
    if (!is_reference(reference))
      refuse("a call is on " + to_wire(reference).substr(0, 60) +
             ", which names no layer, call and output");
  return references;
}

}  // namespace det::nn
