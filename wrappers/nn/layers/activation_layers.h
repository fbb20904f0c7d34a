// Activations, in other layers and as layers of their own.
#pragma once

#include <optional>

#include "wrappers/nn/layers/layer.h"

namespace det::nn {

// What a field says of an activation; "linear" where it is null.
std::string activation_name(Fields &fields, const char *key, const char *usual);

// The field of a layer that names an activation.
class NamedActivation {
 public:
  NamedActivation(Fields &fields, const char *key, const char *usual = "linear");

  // The part of it that another operation can do by the way; linear where it can do none.
  Activation fused() const;
  // Adds an operation that does fused(), and then what is left of the activation.
  Value add(ProgramBuilder &builder, const Operation &operation,
            const std::vector<Value> &inputs) const;
  // Adds all of it to what is there.
  Value add(ProgramBuilder &builder, Value x) const;

 private:
  std::optional<Activation> activation_;  // none: a softmax
  SoftmaxOp softmax_;
};

}  // namespace det::nn
