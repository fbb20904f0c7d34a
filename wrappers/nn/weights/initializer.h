// The first values of weights.
#pragma once

#include <memory>
#include <span>

#include "core/base/json_fwd.h"
#include "wrappers/nn/arithmetic/random_stream.h"
#include "wrappers/nn/arrays/array_shape.h"

namespace det::nn {

class Initializer {
 public:
  virtual ~Initializer() = default;
  virtual void fill(std::span<float> values, const Shape &shape, RandomStream &random) const = 0;
};

// From Keras' configuration: a name ("glorot_uniform"), or an object with "class_name" and
// "config". Throws Code::invalid; `where` says whose it is.
std::shared_ptr<const Initializer> make_initializer(const Json &config, const std::string &where);

}  // namespace det::nn
