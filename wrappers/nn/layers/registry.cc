// All classes of layers by the names that Keras has for them.
#include <functional>
#include <map>

#include "core/base/error.h"
#include "wrappers/nn/graph.h"
#include "wrappers/nn/layers/activation_layers.h"
#include "wrappers/nn/layers/augmentation.h"
#include "wrappers/nn/layers/convolution.h"
#include "wrappers/nn/layers/dense.h"
#include "wrappers/nn/layers/dropout.h"
#include "wrappers/nn/layers/embedding.h"
#include "wrappers/nn/layers/function_layer.h"
#include "wrappers/nn/layers/layer_wrappers.h"
#include "wrappers/nn/layers/merging.h"
#include "wrappers/nn/layers/multi_head_attention.h"
#include "wrappers/nn/layers/normalization.h"
#include "wrappers/nn/layers/pooling.h"
#include "wrappers/nn/layers/recurrent.h"
#include "wrappers/nn/layers/reshaping.h"
#include "wrappers/nn/layers/resizing.h"
#include "wrappers/nn/layers/standardization.h"
#include "wrappers/nn/layers/transposed_convolution.h"
#include "wrappers/nn/near_name.h"

namespace det::nn {

namespace {

using Make = std::function<std::shared_ptr<Layer>(Fields &)>;

template <class L, class... Arguments>
Make making(Arguments... arguments) {
  return [arguments...](Fields &fields) { return std::make_shared<L>(fields, arguments...); };
}

const std::map<std::string, Make> &classes() {
  static const std::map<std::string, Make> all{
      {"Activation", making<ActivationLayer>()},
      {"ActivityRegularization", making<ActivityRegularization>()},
      {"Add", making<Merging>(Arithmetic::add)},
      {"AddLoss", making<AddLoss>()},
      {"AlphaDropout", making<AlphaDropout>()},
      {"Average", making<Average>()},
      {"AveragePooling1D", making<PoolingLayer>(Pooling::average, size_t{1})},
      {"AveragePooling2D", making<PoolingLayer>(Pooling::average, size_t{2})},
      {"BatchNormalization", making<BatchNormalization>()},
      {"Bidirectional", making<Bidirectional>()},
      {"Concatenate", making<Concatenate>()},
      {"Conv1D", making<Convolution>(size_t{1})},
      {"Conv1DTranspose", making<TransposedConvolution>(size_t{1})},
      {"Conv2D", making<Convolution>(size_t{2})},
      {"Conv2DTranspose", making<TransposedConvolution>(size_t{2})},
      {"Cropping1D", making<EdgesLayer>(EdgesLayer::Kind::cropping, size_t{1})},
      {"Cropping2D", making<EdgesLayer>(EdgesLayer::Kind::cropping, size_t{2})},
      {"Dense", making<Dense>()},
      {"DepthwiseConv1D", making<DepthwiseConvolution>(size_t{1})},
      {"DepthwiseConv2D", making<DepthwiseConvolution>(size_t{2})},
      {"Dot", making<Dot>()},
      {"Dropout", making<Dropout>()},
      {"ELU", making<EluLayer>()},
      {"Embedding", making<Embedding>()},
      {"Flatten", making<Flatten>()},
      {"Functional", making<Graph>(Graph::Kind::functional)},
      {"GRU", making<Gru>()},
      {"GlobalAveragePooling1D", making<GlobalPoolingLayer>(Pooling::average, size_t{1})},
      {"GlobalAveragePooling2D", making<GlobalPoolingLayer>(Pooling::average, size_t{2})},
      {"GlobalMaxPooling1D", making<GlobalPoolingLayer>(Pooling::max, size_t{1})},
      {"GlobalMaxPooling2D", making<GlobalPoolingLayer>(Pooling::max, size_t{2})},
      {"LSTM", making<Lstm>()},
      {"LayerNormalization", making<LayerNormalization>()},
      {"LeakyReLU", making<LeakyReluLayer>()},
      {"Masking", making<MaskingLayer>()},
      {"MaxPooling1D", making<PoolingLayer>(Pooling::max, size_t{1})},
      {"MaxPooling2D", making<PoolingLayer>(Pooling::max, size_t{2})},
      {"Maximum", making<Merging>(Arithmetic::maximum)},
      {"Minimum", making<Merging>(Arithmetic::minimum)},
      {"Model", making<Graph>(Graph::Kind::functional)},
      {"MultiHeadAttention", making<MultiHeadAttention>()},
      {"Multiply", making<Merging>(Arithmetic::multiply)},
      {"Normalization", making<Standardization>()},
      {"PReLU", making<PReluLayer>()},
      {"Permute", making<Permute>()},
      {"RandomFlip", making<RandomImageLayer>(RandomImageOp::Change::mirror)},
      {"RandomRotation", making<RandomImageLayer>(RandomImageOp::Change::turn)},
      {"RandomZoom", making<RandomImageLayer>(RandomImageOp::Change::zoom)},
      {"ReLU", making<ReluLayer>()},
      {"RepeatVector", making<RepeatVector>()},
      {"Rescaling", making<Rescaling>()},
      {"Reshape", making<ReshapeLayer>()},
      {"SeparableConv1D", making<SeparableConvolution>(size_t{1})},
      {"SeparableConv2D", making<SeparableConvolution>(size_t{2})},
      {"Sequential", making<Graph>(Graph::Kind::sequential)},
      {"SimpleRNN", making<SimpleRnn>()},
      {"SlicingOpLambda", making<FunctionLayer>()},
      {"Softmax", making<SoftmaxLayer>()},
      {"SpatialDropout1D", making<Dropout>(Dropout::Kind::channels, size_t{3})},
      {"SpatialDropout2D", making<Dropout>(Dropout::Kind::channels, size_t{4})},
      {"Subtract", making<Merging>(Arithmetic::subtract)},
      {"TFOpLambda", making<FunctionLayer>()},
      {"TimeDistributed", making<TimeDistributed>()},
      {"UpSampling1D", making<UpSampling>(size_t{1})},
      {"UpSampling2D", making<UpSampling>(size_t{2})},
      {"ZeroPadding1D", making<EdgesLayer>(EdgesLayer::Kind::zero_padding, size_t{1})},
      {"ZeroPadding2D", making<EdgesLayer>(EdgesLayer::Kind::zero_padding, size_t{2})},
  };
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
