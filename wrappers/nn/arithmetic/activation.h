// The functions that layers apply to each element.
#pragma once

#include <string>
#include <string_view>

namespace det::nn {

enum class Activation {
  linear,
  relu,
  relu6,
  sigmoid,
  tanh,
  elu,
  selu,
  softplus,
  softsign,
  exponential,
  hard_sigmoid,
  silu,
  gelu,
  gelu_approximate,
  mish,
  leaky_relu,
};

// Keras' names, and those that are said for them ("swish"). Throws Code::invalid, with the nearest
// name, for one that there is not; `where` says whose it is. Softmax and log_softmax look at a
// whole axis and are an operation of their own.
Activation activation_named(std::string_view name, const std::string &where);
const char *name_of(Activation activation);

// Whether the derivative follows from the result alone, so that what went in need not be kept: such
// a function can be part of another operation.
bool derives_from_result(Activation activation);

}  // namespace det::nn
