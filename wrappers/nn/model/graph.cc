#include "wrappers/nn/model/graph.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
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

// A function of TensorFlow that is called on what layers gave.
bool is_function(const Layer &layer) {
  return layer.class_name() == "TFOpLambda" || layer.class_name() == "SlicingOpLambda";
}

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
  return value.is_array() && value.size() >= 3 && value[0] == Json(LayerCall::constant_argument);
}

}  // namespace

// Reads the layers of a functional model and their calls, in whatever order they are written.
class Graph::FunctionalReader {
 public:
  FunctionalReader(Graph &graph, Fields &fields) : graph_(graph), fields_(fields) {}

  void read() {
    const Json &layers = fields_.any("layers");
    if (!layers.is_array()) refuse("'layers' is no array");
    read_inputs(layers);
    read_layers(layers);
    for (Call *call : written_) place_after_what_it_needs(*call);
    for (const Json &result : references_in(fields_.any("output_layers"))) {
      const auto found = find(result);
      if (!found) refuse("an output comes from a missing layer");
      graph_.results_.push_back(*found);
    }
    if (graph_.results_.empty()) refuse("it has no outputs");
  }

 private:
  // The n-th call of a layer, as "inbound_nodes" has it.
  struct Call {
    std::string layer;
    size_t number;
    std::vector<Json> inputs;  // references, as in `named`
    std::map<std::string, Json> named = {};
    Json options = Json::object();
    std::vector<const Json *> waits_for = {};  // what may not be there yet
    bool is_waiting = false;
  };
  using Place = std::pair<std::string, size_t>;  // a layer, and the number of a call of it

  // In the order of "input_layers", which is that in which arrays are given.
  void read_inputs(const Json &layers) {
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
  void read_layers(const Json &layers) {
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
  Call read_call(const std::string &layer, size_t number, const Json &inbound) const {
    const bool is_function = nn::is_function(*layers_.at(layer));
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
      const Json given{{LayerCall::constant_argument, inbound[2]}};
      call.options[LayerCall::constant_argument] =
          Fields(given, "a call of the layer '" + layer + "'").any(LayerCall::constant_argument);
      call.inputs.clear();
    }
    return call;
  }
  // Without recursion: chains are as long as a file has layers.
  void place_after_what_it_needs(Call &first) {
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
        refuse("the layer '" + call.layer + "' is called on a missing layer, or waits for itself");
      wait_for(needed->second);
    }
  }
  void place(const Call &call) {
    Node node;
    node.layer = layers_.at(call.layer);
    node.number = call.number;
    node.options = call.options;
    for (const Json &input : call.inputs) node.inputs.push_back(*find(input));
    for (const auto &[name, input] : call.named) node.named.emplace(name, *find(input));
    nodes_[{call.layer, call.number}] = graph_.nodes_.size();
    graph_.nodes_.push_back(std::move(node));
  }
  static Place place_of(const Json &reference) {
    return {reference[0].get<std::string>(), reference[1].get<size_t>()};
  }
  std::optional<Reference> find(const Json &reference) const {
    const auto node = nodes_.find(place_of(reference));
    if (node == nodes_.end()) return std::nullopt;
    return Reference{node->second, reference[2].get<size_t>()};
  }
  // A single reference may stand without the list around it, and an object has names for them: they
  // are taken in the order of the names, as Keras does.
  std::vector<Json> references_in(const Json &list) const {
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
  [[noreturn]] void refuse(const std::string &problem) const {
    throw Error(Code::invalid, "reading " + fields_.where() + ": " + problem);
  }

  Graph &graph_;
  Fields &fields_;
  std::map<std::string, std::shared_ptr<Layer>> layers_;
  std::map<Place, Call> calls_;
  std::vector<Call *> written_;    // in their order
  std::map<Place, size_t> nodes_;  // of those that are in the graph
};

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
  if (const auto constant = arguments.find(LayerCall::constant_argument);
      constant != arguments.end()) {
    inbound = {LayerCall::constant_argument, -1, *constant};
    arguments.erase(LayerCall::constant_argument);
    inbound.push_back(arguments);
  }
  for (const Reference &input : node.inputs) {
    inbound.push_back(written(input));
    inbound.back().push_back(arguments);  // Keras takes those of the last
  }
  // A function takes what it is given as it stands: of a list around an array it would make one.
  const bool is_function = nn::is_function(*node.layer);
  if (is_function && node.inputs.size() == 1 &&
      node.layer->config().at("function") != Json("concat"))
    return inbound[0];
  return inbound;
}

}  // namespace det::nn
