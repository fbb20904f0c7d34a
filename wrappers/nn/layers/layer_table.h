// The classes of layers by the names that Keras has for them. A file of layers gives a table of
// those that it has, and keeps its classes to itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

using LayerMaker = std::function<std::shared_ptr<Layer>(Fields &)>;
using LayerTable = std::map<std::string, LayerMaker>;

template <class L, class... Arguments>
LayerMaker making(Arguments... arguments) {
  return [arguments...](Fields &fields) { return std::make_shared<L>(fields, arguments...); };
}

LayerTable activation_layers();
LayerTable attention_layers();
LayerTable convolution_layers();
LayerTable dense_layers();
LayerTable dropout_layers();
LayerTable embedding_layers();
LayerTable function_layers();
LayerTable image_layers();
LayerTable merging_layers();
LayerTable normalization_layers();
LayerTable pooling_layers();
LayerTable recurrent_layers();
LayerTable reshaping_layers();

}  // namespace det::nn
