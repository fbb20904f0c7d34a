#include "wrappers/nn/optimizers/gradient_clipping.h"

#include "core/base/error.h"
#include "wrappers/nn/weight_arithmetic.h"

namespace det::nn {

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
void GradientClipping::clip(const Weights &weights, WeightArithmetic &arithmetic) const {
  const Array &all = weights.gradients();
  if (norm_.value_or(0) > 0)
    for (const Weight &weight : weights.all())
      if (weight.gradient) arithmetic.shorten(weight.gradient, *norm_);
  if (global_norm_.value_or(0) > 0) arithmetic.shorten(all, *global_norm_);
  if (value_.value_or(0) > 0) arithmetic.limit(all, static_cast<float>(*value_));
}

}  // namespace det::nn
