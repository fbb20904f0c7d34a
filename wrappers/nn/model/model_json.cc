// Models as Keras writes them: read in the form of any of its releases, and written in that
// of 2.15.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/json_fwd.h"
#include "wrappers/nn/model/graph.h"

namespace det::nn {

namespace {

bool is_class(const Json &value, const char *name) {
  return value.is_object() && value.contains("class_name") && value["class_name"] == Json(name);
}

bool is_model(const Json &layer) {
  return is_class(layer, "Functional") || is_class(layer, "Sequential") || is_class(layer, "Model");
}

std::string name_of(const Json &layer) {
  for (const Json *where : {&layer, layer.contains("config") ? &layer["config"] : nullptr})
    if (where != nullptr && where->is_object() && where->contains("name") &&
        (*where)["name"].is_string())
      return (*where)["name"].get<std::string>();
  return {};
}

std::string named(const Json &layer) {
  return "reading the layer '" + name_of(layer) + "' (" + layer["class_name"].dump() +
         ") of Keras 3: ";
}

// Fields that Keras 2.15 has not: what each must be to be left out.
struct Addition {
  const char *key;
  Json harmless;
};

const std::vector<Addition> &additions() {
  static const std::vector<Addition> all{
      {"flash_attention", nullptr},     {"lora_rank", nullptr},         {"optional", false},
      {"quantization_config", nullptr}, {"quantization_mode", nullptr}, {"renorm", false},
      {"rms_scaling", false},           {"synchronized", false},        {"use_gate", false},
  };
  return all;
}

class Keras3 {
 public:
  // A model or a layer.
  static Json layer(Json described) {
    if (!described.is_object() || !described.contains("class_name") ||
        !described["class_name"].is_string())
      return described;
    if (const auto module = described.find("module");
        module != described.end() && module->is_string() &&
        module->get<std::string>().starts_with("keras.src.ops"))
      throw Error(Code::unsupported, named(described) +
                                         "it is a function of keras.ops; say what it computes by "
                                         "layers, such as Add, Multiply, Rescaling or Reshape");
    for (const char *key : {"module", "registered_name", "build_config"}) described.erase(key);
    if (!described.contains("config") || !described["config"].is_object()) return described;
    Json &config = described["config"];
    rename(config, "batch_shape", "batch_input_shape");
    for (const char *key : {"dtype", "activation", "recurrent_activation"})
      if (config.contains(key)) config[key] = plain(config[key]);
    for (const Addition &one : additions()) {
      if (!config.contains(one.key)) continue;
      if (config[one.key] != one.harmless)
        throw Error(Code::unsupported, named(described) + "'" + one.key + "' is " +
                                           to_wire(config[one.key]).substr(0, 60) + "; only " +
                                           to_wire(one.harmless) + " is supported");
      config.erase(one.key);
    }
    if (is_class(described, "LeakyReLU")) rename(config, "negative_slope", "alpha");
    if (is_class(described, "Embedding")) config.erase("lora_alpha");
    const std::set<std::string> draws{"GRU", "LSTM", "MultiHeadAttention", "SimpleRNN"};
    if (draws.count(described["class_name"].get<std::string>()) > 0) config.erase("seed");
    for (const char *key : {"layer", "backward_layer"})
      if (config.contains(key)) config[key] = layer(config[key]);
    if (is_model(described) && config.contains("layers") && config["layers"].is_array())
      model(config);
    return described;
  }

 private:
  static void rename(Json &config, const char *from, const char *to) {
    if (!config.contains(from)) return;
    Json value = config[from];
    config.erase(from);
    config[to] = std::move(value);
  }

  // The name of a policy, and of a function.
  static Json plain(const Json &value) {
    if (is_class(value, "DTypePolicy") && value.contains("config") &&
        value["config"].contains("name"))
      return value["config"]["name"];
    if (is_class(value, "function") && value.contains("config")) return value["config"];
    return value;
  }

  static void model(Json &config) {
    config.erase("build_input_shape");
    std::set<std::string> models;
    for (Json &one : config["layers"]) {
      one = layer(one);
      if (is_model(one)) models.insert(name_of(one));
    }
    for (Json &one : config["layers"])
      if (one.contains("inbound_nodes") && one["inbound_nodes"].is_array())
        for (Json &call : one["inbound_nodes"])
          if (call.is_object()) call = inbound(call, models);
    for (const char *key : {"input_layers", "output_layers"})
      if (config.contains(key)) renumber(config[key], models);
  }

  // Keras 2.15 counts the calls of a model from 1: it has called it on its own inputs before.
  static void renumber(Json &reference, const std::set<std::string> &models) {
    if (!reference.is_structured()) return;
    const bool is_reference = reference.is_array() && reference.size() == 3 &&
                              reference[0].is_string() && reference[1].is_number_integer();
    if (!is_reference)
      for (Json &one : reference) renumber(one, models);
    else if (models.count(reference[0].get<std::string>()) > 0 &&
             reference[1].get<int64_t>() < INT32_MAX)
      reference[1] = reference[1].get<int64_t>() + 1;
  }

  static std::optional<Json> tensor(const Json &value, const std::set<std::string> &models) {
    if (!is_class(value, "__keras_tensor__") || !value.contains("config") ||
        !value["config"].contains("keras_history"))
      return {};
    Json reference = value["config"]["keras_history"];
    if (!reference.is_array()) return {};
    renumber(reference, models);
    return reference;
  }

  static void gather(const Json &value, const std::set<std::string> &models, Json &references) {
    if (auto reference = tensor(value, models)) {
      references.push_back(*reference);
    } else if (value.is_array()) {
      for (const Json &one : value) gather(one, models, references);
    }
  }

  // {"args": [...], "kwargs": {...}} as [[layer, call, output, {...}], ...].
  static Json inbound(const Json &call, const std::set<std::string> &models) {
    Json references = Json::array(), options = Json::object();
    if (call.contains("args")) gather(call["args"], models, references);
    if (call.contains("kwargs") && call["kwargs"].is_object())
      for (const auto &[key, value] : call["kwargs"].items()) {
        if (auto reference = tensor(value, models)) options[key] = *reference;
        else if (value.is_array()) gather(value, models, references);  // states
        else if (!value.is_null()) options[key] = value;
      }
    for (Json &reference : references) reference.push_back(Json::object());
    if (!references.empty()) references[0][3] = options;
    return references;
  }
};

// Whether something in it is written as only Keras 3 does.
bool is_of_keras_3(const Json &value) {
  if (is_class(value, "DTypePolicy") || is_class(value, "__keras_tensor__")) return true;
  if (value.is_object() && value.contains("batch_shape")) return true;
  return value.is_structured() && std::any_of(value.begin(), value.end(), is_of_keras_3);
}

// As Keras 2.15 has it, from what it, Keras 2.0 to 2.2 (a Sequential whose configuration is the
// list of its layers) or Keras 3 writes. Throws Code::unsupported for what only Keras 3 has.
Json as_keras_2(const Json &described) {
  Json model = described;
  if (is_class(model, "Sequential") && model.contains("config") && model["config"].is_array())
    model["config"] = {{"name", "sequential"}, {"layers", model["config"]}};
  return is_of_keras_3(model) ? Keras3::layer(model) : model;
}

}  // namespace

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

Json write_model(const Graph &graph) {
  Json config = graph.config();
  config["layers"] = graph.described_layers();
  return {{"class_name", graph.class_name()},
          {"config", config},
          {"keras_version", "2.15.0"},
          {"backend", "tensorflow"}};
}

}  // namespace det::nn
