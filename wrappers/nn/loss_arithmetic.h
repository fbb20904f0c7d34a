// The arithmetic of losses on one element, and its derivative: for processors and GPUs.
#pragma once

#include <cmath>
#include <numbers>

#include "wrappers/nn/host_device.h"
#include "wrappers/nn/loss_function.h"
#include "wrappers/nn/reference/activation_functions.h"

namespace det::nn {

namespace loss_arithmetic {

// Keras' epsilon: probabilities are kept this far from 0 and 1.
inline constexpr float tiny = 1e-7F;

// A value, and its derivative by the prediction.
struct Point {
  float value;
  float slope;
};

DET_HOST_DEVICE inline float clipped(float p) { return limited(p, tiny, 1 - tiny); }
DET_HOST_DEVICE inline bool is_clipped(float p) { return p < tiny || p > 1 - tiny; }
DET_HOST_DEVICE inline float sign(float x) { return static_cast<float>((x > 0) - (x < 0)); }

DET_HOST_DEVICE inline Point binary_crossentropy(float p, float y, bool from_logits) {
  if (from_logits) return {softplus(p) - p * y, sigmoid(p) - y};
  const float q = clipped(p);
  const float value = -(y * std::log(q + tiny) + (1 - y) * std::log(1 - q + tiny));
  return {value, is_clipped(p) ? 0 : (1 - y) / (1 - q + tiny) - y / (q + tiny)};
}

DET_HOST_DEVICE inline Point focal_crossentropy(const LossFunction &of, float p, float y) {
  const Point entropy = binary_crossentropy(p, y, of.from_logits);
  const float q = of.from_logits ? sigmoid(p) : p;
  const float q_slope = of.from_logits ? q * (1 - q) : 1;
  const float missed = 1 - (y * q + (1 - y) * (1 - q));
  const float missed_slope = -(2 * y - 1) * q_slope;
  const float focus = std::pow(missed, of.gamma);
  const float focus_slope = of.gamma * std::pow(missed, of.gamma - 1) * missed_slope;
  const float weight = of.is_balanced ? y * of.alpha + (1 - y) * (1 - of.alpha) : 1;
  return {weight * focus * entropy.value,
          weight * (focus * entropy.slope + focus_slope * entropy.value)};
}

DET_HOST_DEVICE inline Point huber(float error, float delta) {
  if (std::fabs(error) <= delta) return {error * error / 2, error};
  return {delta * std::fabs(error) - delta * delta / 2, delta * sign(error)};
}

DET_HOST_DEVICE inline Point squared_logarithmic_error(float p, float y) {
  const float q = larger(p, tiny);
  const float error = std::log(q + 1) - std::log(larger(y, tiny) + 1);
  return {error * error, p >= tiny ? 2 * error / (q + 1) : 0};
}

DET_HOST_DEVICE inline Point hinge(const LossFunction &of, float p, float y, bool is_squared) {
  const float label = of.has_binary_truth ? 2 * y - 1 : y;
  const float missing = 1 - label * p;
  if (missing < 0) return {0, 0};
  if (is_squared) return {missing * missing, -2 * missing * label};
  return {missing, -label};
}

// Of the functions of single elements.
DET_HOST_DEVICE inline Point point_of(const LossFunction &of, float p, float y) {
  switch (of.kind) {
    case LossKind::squared_error:
      return {(p - y) * (p - y), 2 * (p - y)};
    case LossKind::absolute_error:
      return {std::fabs(p - y), sign(p - y)};
    case LossKind::absolute_percentage_error: {
      const float by = 100 / larger(std::fabs(y), tiny);
      return {by * std::fabs(p - y), by * sign(p - y)};
    }
    case LossKind::squared_logarithmic_error:
      return squared_logarithmic_error(p, y);
    case LossKind::huber:
      return huber(p - y, of.delta);
    case LossKind::log_cosh:
      return {p - y + softplus(-2 * (p - y)) - std::numbers::ln2_v<float>, std::tanh(p - y)};
    case LossKind::poisson:
      return {p - y * std::log(p + tiny), 1 - y / (p + tiny)};
    case LossKind::binary_focal_crossentropy:
      return focal_crossentropy(of, p, y * (1 - of.smoothing) + of.smoothing / 2);
    case LossKind::hinge:
    case LossKind::squared_hinge:
      return hinge(of, p, y, of.kind == LossKind::squared_hinge);
    default:
      return binary_crossentropy(p, y * (1 - of.smoothing) + of.smoothing / 2, of.from_logits);
  }
}

}  // namespace loss_arithmetic

}  // namespace det::nn
