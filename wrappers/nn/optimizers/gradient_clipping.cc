#include "wrappers/nn/optimizers/gradient_clipping.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace det::nn {

namespace {

double sum_of_squares(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

// A gradient that is not a number stays so: nothing hides it.
void shorten(std::span<float> gradients, double norm, double longest) {
  if (norm <= longest) return;
  const auto by = static_cast<float>(longest / norm);
  for (float &gradient : gradients) gradient *= by;
}

}  // namespace

GradientClipping::GradientClipping(Fields &fields)
    : norm_(fields.number_or_none("clipnorm")),
      global_norm_(fields.number_or_none("global_clipnorm")),
      value_(fields.number_or_none("clipvalue")) {
  if (norm_.has_value() + global_norm_.has_value() + value_.has_value() > 1)
    throw Error(Code::invalid,
                "reading " + fields.where() +
                    ": of 'clipnorm', 'global_clipnorm' and 'clipvalue' only one can be given");
  for (const auto &limit : {norm_, global_norm_, value_})
    if (limit && !(*limit >= 0))
      throw Error(Code::invalid,
                  "reading " + fields.where() + ": gradients cannot be clipped to less than 0");
}

// A limit of 0 is none, as in Keras.
void GradientClipping::clip(const Weights &weights) const {
  const auto all = weights.gradients().elements();
  if (norm_.value_or(0) > 0)
    for (const Weight &weight : weights.all())
      if (weight.gradient) {
        const auto own = weight.gradient.elements();
        shorten(own, std::sqrt(sum_of_squares(own)), *norm_);
      }
  if (global_norm_.value_or(0) > 0) shorten(all, std::sqrt(sum_of_squares(all)), *global_norm_);
  if (value_.value_or(0) > 0) {
    const auto limit = static_cast<float>(*value_);
    for (float &gradient : all) gradient = std::clamp(gradient, -limit, limit);
  }
}

}  // namespace det::nn
