// What weights are held to after each step of an optimizer.
#pragma once

#include <memory>
#include <string>

#include "core/base/json_fwd.h"
#include "wrappers/nn/arrays/array.h"

namespace det::nn {

class Constraint {
 public:
  virtual ~Constraint() = default;
  // Changes the values where they lie, in memory of the process.
  virtual void apply(const Array &values) const = 0;
};

// From Keras' configuration: null for none, a name ("max_norm"), or an object with "class_name" and
// "config". Throws Code::invalid, with the nearest name; `where` says whose it is.
std::shared_ptr<const Constraint> make_constraint(const Json &config, const std::string &where);

}  // namespace det::nn
