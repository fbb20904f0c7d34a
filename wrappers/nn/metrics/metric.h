// What is told of a model beside its loss.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "wrappers/nn/arrays/array.h"

namespace det::nn {

// Gathers over batches, until it is reset.
class Metric {
 public:
  virtual ~Metric() = default;
  // Of each number that it tells, mostly one.
  virtual std::vector<std::string> names() const = 0;
  // Whether it takes numbers of classes as well as arrays of the prediction's shape.
  virtual bool takes_any_truth() const { return false; }
  // Throws Code::invalid where it cannot be told of such predictions; before the first update with
  // arrays of these types.
  virtual void check(const ArrayType & /*truth*/, const ArrayType & /*prediction*/) const {}
  // Whether check_values() refuses any.
  virtual bool limits_values() const { return false; }
  // Throws Code::invalid for numbers that it cannot be told of, before it is updated with them.
  virtual void check_values(const Array & /*truth*/, const Array & /*prediction*/) const {}
  // `weights`: an array without memory, or one number for each record.
  virtual void update(const Array &truth, const Array &prediction, const Array &weights) = 0;
  virtual double result(size_t index = 0) const = 0;
  virtual void reset() = 0;
};

// From a name, or an object with "class_name" and "config". What "accuracy" means follows from what
// is compared. Throws Code::invalid, with the nearest name.
std::unique_ptr<Metric> make_metric(const Json &config, const ArrayType &truth,
                                    const ArrayType &prediction);

}  // namespace det::nn
