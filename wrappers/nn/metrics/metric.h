// What is told of a model beside its loss.
#pragma once

#include <memory>
#include <string>

#include "core/base/json_fwd.h"
#include "wrappers/nn/array.h"

namespace det::nn {

// Gathers over batches, until it is reset.
class Metric {
 public:
  virtual ~Metric() = default;
  virtual std::string name() const = 0;
  // Throws Code::invalid where it cannot be told of such predictions.
  virtual void check(const ArrayType &) const {}
  // `weights`: an array without memory, or one number for each record.
  virtual void update(const Array &truth, const Array &prediction, const Array &weights) = 0;
  virtual double result() const = 0;
  virtual void reset() = 0;
};

// From a name, or an object with "class_name" and "config". What "accuracy" means follows from what
// is compared. Throws Code::invalid, with the nearest name.
std::unique_ptr<Metric> make_metric(const Json &config, const ArrayType &truth,
                                    const ArrayType &prediction);

}  // namespace det::nn
