#include "wrappers/nn/optimizers/loss_scale.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "wrappers/nn/weight_arithmetic.h"

namespace det::nn {

LossScale::LossScale(Fields &fields) {
  const bool is_dynamic = fields.flag("dynamic", true);
  const auto scale = fields.number_or_none("initial_scale");
  if (scale) state_.scale = static_cast<float>(*scale);
  const auto refuse = [&](const char *problem) {
    throw Error(Code::invalid, "reading " + fields.where() + ": " + problem);
  };
  if (!is_dynamic && !scale) refuse("'initial_scale' is missing, the fixed scale");
  if (!std::isfinite(state_.scale) || state_.scale <= 0)
    refuse("'initial_scale' must be a number above 0");
  if (fields.has("dynamic_growth_steps")) {
    if (!is_dynamic) refuse("'dynamic_growth_steps' is given, and the scale is not 'dynamic'");
    growth_steps_ = fields.positive_integer("dynamic_growth_steps");
  } else {
    fields.any("dynamic_growth_steps");
    if (!is_dynamic) growth_steps_ = 0;
  }
}

bool LossScale::unscale(const Array &gradients, WeightArithmetic &arithmetic) {
  const bool is_finite = arithmetic.scale_and_check(gradients, 1 / state_.scale);
  if (growth_steps_ == 0) return true;
  follow(is_finite);
  return is_finite;
}

void LossScale::follow(bool is_finite) {
  if (!is_finite) {
    state_ = {std::max(state_.scale / 2, 1.0F), 0};
    return;
  }
  if (++state_.good_steps < growth_steps_) return;
  state_.good_steps = 0;
  if (std::isfinite(state_.scale * 2)) state_.scale *= 2;
}

}  // namespace det::nn
