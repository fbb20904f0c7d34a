// What a model's prediction is compared with, and how.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "wrappers/nn/program/program_builder.h"

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
  // class: before anything is trained with it. `given` are the same labels as the caller has them.
  virtual void check(const Array & /*truth*/, const Array & /*given*/,
                     const ArrayType & /*prediction*/) const {}
  // Whether a label, or what stands in the place of one, counts at all.
  virtual bool counts(int32_t /*label*/) const { return true; }
  // Of which rows the mean is: 1 or 0 for each; none: of all.
  virtual std::optional<Value> counted(ProgramBuilder & /*builder*/, Value /*truth*/) const {
    return {};
  }
  // The array of weights that is to be given for a prediction of this shape: one for each record,
  // or for each of as many of the axes of its rows as there are.
  ArrayType weights_for(const Shape &prediction, size_t axes) const;
  // Adds it to a program: a single number, the sum of the weighted losses of all elements, of the
  // reduction `mean` divided by their number. `weights`, where there are any, are
  // those of weights_for().
  virtual Value add(ProgramBuilder &builder, Value truth, Value prediction,
                    std::optional<Value> weights) const = 0;
  // What is told of what add() gave, which is that itself unless tells_other().
  Value told(ProgramBuilder &builder, Value added, Value prediction) const;
  bool tells_other() const { return reduction_ == Reduction::none; }
  bool is_mean() const { return reduction_ == Reduction::mean; }

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
