// The names that Keras has for losses, and for metrics that are the same functions.
#pragma once

#include <string>
#include <vector>

#include "wrappers/nn/arithmetic/loss_function.h"
#include "wrappers/nn/configuration/keras_fields.h"

namespace det::nn {

struct NamedLoss {
  const char *name;  // "mean_squared_error"
  LossKind kind;
  std::vector<const char *> others;  // "mse"
};

// By any of the names, in any case; null for one that is none.
const NamedLoss *find_loss(const std::string &name);
// Of labels that are numbers of classes; it is not among the functions of rows.
bool is_sparse_crossentropy(const std::string &name);
std::vector<std::string> names_of_losses();

// With the options that Keras' class has, but for its axis. Throws Code::invalid.
LossFunction read_loss_function(const NamedLoss &loss, Fields &fields);
// Whether Keras' class has the option "axis".
bool has_axis(LossKind kind);

}  // namespace det::nn
