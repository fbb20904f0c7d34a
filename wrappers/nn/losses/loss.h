// What a model's prediction is compared with, and how.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "wrappers/nn/program_builder.h"

namespace det::nn {

// What becomes of the losses of single rows. Of `none` Keras makes the sum smaller, and tells the
// mean.
enum class Reduction { mean, sum, none };

class Loss {
 public:
  explicit Loss(Reduction reduction, int64_t axis = -1) : reduction_(reduction), axis_(axis) {}
  virtual ~Loss() = default;

  // "sparse_categorical_crossentropy"
  virtual std::string name() const = 0;
  // The array that is to be given for a prediction of this type.
  virtual ArrayType truth_for(const ArrayType &prediction) const = 0;
  // Throws Code::invalid, with the record, for what cannot be compared, such as a label that is no
  // class: before anything is trained with it.
  virtual void check(const Array &, const ArrayType &) const {}
  // Adds it to a program: a single number, the sum of the weighted losses of all elements, of the
  // reduction `mean` divided by their number. `weights`, where there are any, are one for each
  // record.
  virtual Value add(ProgramBuilder &builder, Value truth, Value prediction,
                    std::optional<Value> weights) const = 0;
  // What is told of what add() gave, which is that itself unless tells_other().
  Value told(ProgramBuilder &builder, Value added, Value prediction) const;
  bool tells_other() const { return reduction_ == Reduction::none; }

 protected:
  // Along which rows lie.
  int64_t axis() const { return axis_; }
  bool is_sum() const { return reduction_ != Reduction::mean; }

 private:
  const Reduction reduction_;
  const int64_t axis_;
};

// From a name, Keras' or the class' ("mse", "MeanSquaredError"), or an object with "class_name" and
// "config". Throws Code::invalid, with the nearest name.
std::shared_ptr<const Loss> make_loss(const Json &config);

}  // namespace det::nn
