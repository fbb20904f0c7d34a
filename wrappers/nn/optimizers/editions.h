// The optimizers of Keras 2.15, and what its older ones and TensorFlow 1 compute otherwise.
#pragma once

#include "wrappers/nn/optimizers/optimizer.h"

namespace det::nn {

enum class Edition {
  keras,
  legacy,  // tf.keras.optimizers.legacy, which tf.estimator uses as well
  v1,      // tf.compat.v1.train
};

std::unique_ptr<Optimizer> make_sgd(Fields &fields, Edition edition);
std::unique_ptr<Optimizer> make_lion(Fields &fields);
std::unique_ptr<Optimizer> make_adam(Fields &fields, Edition edition);
std::unique_ptr<Optimizer> make_adamw(Fields &fields);
std::unique_ptr<Optimizer> make_adamax(Fields &fields, Edition edition);
std::unique_ptr<Optimizer> make_nadam(Fields &fields, Edition edition);
std::unique_ptr<Optimizer> make_rmsprop(Fields &fields, Edition edition);
std::unique_ptr<Optimizer> make_adagrad(Fields &fields, Edition edition);
std::unique_ptr<Optimizer> make_adadelta(Fields &fields);
std::unique_ptr<Optimizer> make_ftrl(Fields &fields);

// A part that is kept at each step, and the rest that is new. Keras takes the rest of the number
// that was given, TensorFlow's kernels of what float32 makes of it: for rates near 1 that differs.
struct Rate {
  Rate(double given, Edition edition)
      : value(static_cast<float>(given)),
        rest(edition == Edition::keras ? static_cast<float>(1 - given) : 1 - value) {}

  float value;
  float rest;
};

}  // namespace det::nn
