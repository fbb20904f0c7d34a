// How a weight of a layer begins, and what keeps it small.
#pragma once

#include <memory>
#include <string>

#include "core/base/json.h"
#include "wrappers/nn/constraints/constraint.h"
#include "wrappers/nn/initializers/initializer.h"
#include "wrappers/nn/keras_fields.h"
#include "wrappers/nn/regularizers/regularizer.h"

namespace det::nn {

// The fields of a layer that are named after a weight: NAME_initializer, NAME_regularizer and
// NAME_constraint.
struct WeightStyle {
  WeightStyle(Fields &fields, const std::string &name, const char *usual_initializer)
      : initializer(make_initializer(fields.any((name + "_initializer").c_str(), usual_initializer),
                                     fields.where())),
        regularizer(make_regularizer(fields.any((name + "_regularizer").c_str()), fields.where())),
        constraint(make_constraint(fields.any((name + "_constraint").c_str()), fields.where())) {}

  std::shared_ptr<const Initializer> initializer;
  Regularizer regularizer;
  std::shared_ptr<const Constraint> constraint;
};

}  // namespace det::nn
