// What keeps weights, or what layers give, small: a part of the loss.
#pragma once

#include <string>

#include "core/base/json_fwd.h"

namespace det::nn {

// l1 * sum of |w| + l2 * sum of w * w.
struct Regularizer {
  float l1 = 0;
  float l2 = 0;

  explicit operator bool() const { return l1 != 0 || l2 != 0; }
};

// From Keras' configuration: null, a name ("l2"), or an object with "class_name" and "config".
// Throws Code::invalid; `where` says whose it is.
Regularizer make_regularizer(const Json &config, const std::string &where);

}  // namespace det::nn
