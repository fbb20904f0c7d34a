// All classes of layers by the names that Keras has for them.
#include <map>

#include "core/base/error.h"
#include "wrappers/nn/configuration/named_config.h"
#include "wrappers/nn/layers/layer_table.h"
#include "wrappers/nn/model/graph.h"

namespace det::nn {

namespace {

const LayerTable &classes() {
  static const LayerTable all = [] {
    LayerTable joined{
        {"Functional", making<Graph>(Graph::Kind::functional)},
        {"Model", making<Graph>(Graph::Kind::functional)},
        {"Sequential", making<Graph>(Graph::Kind::sequential)},
    };
    for (const auto table :
         {activation_layers, attention_layers, convolution_layers, dense_layers, dropout_layers,
          embedding_layers, function_layers, image_layers, merging_layers, normalization_layers,
          pooling_layers, recurrent_layers, reshaping_layers})
      joined.merge(table());
    return joined;
  }();
  return all;
}

// What Keras has and we cannot have, and what helps.
const std::map<std::string, std::string> &refused_classes() {
  static const std::map<std::string, std::string> all{
      {"AddMetric", "it adds a metric by a function; name the metrics when you compile the model"},
      {"CategoryEncoding", "encode the categories before, such as by an indicator_column()"},
      {"Conv3D", "convolutions have one or two dimensions; use Conv2D"},
      {"ConvLSTM2D",
       "recurrent layers take sequences of vectors; use TimeDistributed with Conv2D, and then "
       "LSTM"},
      {"Hashing",
       "hash before the model, such as by a categorical_column_with_hash_bucket() of "
       "det/estimator.hpp"},
      {"IntegerLookup", "give the model the places of the numbers in the vocabulary"},
      {"Lambda", "it is Python code; say what it computes by other layers"},
      {"StringLookup",
       "models take numbers; look texts up before, such as by a "
       "categorical_column_with_vocabulary_list() of det/estimator.hpp"},
      {"TextVectorization", "models take numbers; give the model the places of the words"},
  };
  return all;
}

}  // namespace

std::shared_ptr<Layer> make_layer(const Json &described) {
  Fields outer(described, "a layer");
  const std::string class_name = outer.text("class_name");
  const auto known = classes().find(class_name);
  if (const auto refused = refused_classes().find(class_name); refused != refused_classes().end())
    throw Error(Code::unsupported, "reading a model: a layer of the class '" + class_name +
                                       "' is not supported: " + refused->second);
  if (known == classes().end()) {
    std::vector<std::string> names;
    for (const auto &[name, make] : classes()) names.push_back(name);
    throw Error(Code::unsupported, "reading a model: there is no layer of the class '" +
                                       class_name + "'" + suggestion(class_name, names));
  }
  const Json &config = outer.any("config", Json::object());
  std::string where = "a layer of the class " + class_name;
  if (config.is_object() && config.contains("name") && config["name"].is_string())
    where = "the layer '" + config["name"].get<std::string>() + "' (" + class_name + ")";
  Fields fields(config, where);
  std::shared_ptr<Layer> layer = known->second(fields);
  fields.finish();
  layer->class_name_ = class_name;
  layer->config_ = fields.complete();
  return layer;
}

}  // namespace det::nn
