// The arithmetic of losses on one element and on a row of them, and its derivatives: for processors
// and GPUs.
#pragma once

#include <cmath>
#include <numbers>

#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/arithmetic/host_device.h"
#include "wrappers/nn/arithmetic/loss_function.h"

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

DET_HOST_DEVICE inline float log_sum_exp(const float *x, size_t size) {
  float largest = x[0];
  for (size_t i = 1; i < size; ++i) largest = larger(largest, x[i]);
  float sum = 0;
  for (size_t i = 0; i < size; ++i) sum += std::exp(x[i] - largest);
  return largest + std::log(sum);
}

DET_HOST_DEVICE inline double sparse_crossentropy(const float *prediction, size_t size,
                                                  size_t label, bool from_logits) {
  if (from_logits) return static_cast<double>(log_sum_exp(prediction, size) - prediction[label]);
  float sum = 0;
  for (size_t i = 0; i < size; ++i) sum += clipped(prediction[i]);
  return static_cast<double>(std::log(sum) - std::log(clipped(prediction[label])));
}

// Writes factor * the gradient where `gradient` is not null. Gives the value.
class RowFunction {
 public:
  DET_HOST_DEVICE RowFunction(const LossFunction &of, const float *prediction, const float *truth,
                              size_t size)
      : of_(of), p_(prediction), y_(truth), size_(size) {}

  DET_HOST_DEVICE double compute(float factor, float *gradient) const {
    switch (of_.kind) {
      case LossKind::categorical_crossentropy:
        return of_.from_logits ? entropy_of_logits(factor, gradient) : entropy(factor, gradient);
      case LossKind::categorical_hinge:
        return hinge(factor, gradient);
      case LossKind::kl_divergence:
        return divergence(factor, gradient);
      case LossKind::cosine_similarity:
        return similarity(factor, gradient);
      default:
        return mean(factor, gradient);
    }
  }

 private:
  DET_HOST_DEVICE double mean(float factor, float *gradient) const {
    double sum = 0;
    const float by = factor / static_cast<float>(size_);
    for (size_t i = 0; i < size_; ++i) {
      const Point point = point_of(of_, p_[i], y_[i]);
      sum += static_cast<double>(point.value);
      if (gradient != nullptr) gradient[i] = by * point.slope;
    }
    return sum / static_cast<double>(size_);
  }

  DET_HOST_DEVICE float label(size_t i) const {
    return y_[i] * (1 - of_.smoothing) + of_.smoothing / static_cast<float>(size_);
  }

  // Of labels that need not add up to 1: of several that are true, or none.
  DET_HOST_DEVICE double entropy_of_logits(float factor, float *gradient) const {
    const float log_of_sum = log_sum_exp(p_, size_);
    double value = 0;
    float labels = 0;
    for (size_t i = 0; i < size_; ++i) {
      value -= static_cast<double>(label(i) * (p_[i] - log_of_sum));
      labels += label(i);
    }
    for (size_t i = 0; gradient != nullptr && i < size_; ++i)
      gradient[i] = factor * (labels * std::exp(p_[i] - log_of_sum) - label(i));
    return value;
  }

  // Of shares that need not add up to 1.
  DET_HOST_DEVICE double entropy(float factor, float *gradient) const {
    float sum = 0;
    for (size_t i = 0; i < size_; ++i) sum += p_[i];
    double value = 0;
    float common = 0;  // of the gradient, through the sum
    for (size_t i = 0; i < size_; ++i) {
      const float share = p_[i] / sum;
      value -= static_cast<double>(label(i) * std::log(clipped(share)));
      if (!is_clipped(share)) common += label(i);
    }
    for (size_t i = 0; gradient != nullptr && i < size_; ++i) {
      const float share = p_[i] / sum;
      gradient[i] = factor * (common - (is_clipped(share) ? 0 : label(i) / share)) / sum;
    }
    return value;
  }

  DET_HOST_DEVICE double hinge(float factor, float *gradient) const {
    float right = 0;
    float wrong = (1 - y_[0]) * p_[0];
    for (size_t i = 0; i < size_; ++i) {
      right += y_[i] * p_[i];
      wrong = larger(wrong, (1 - y_[i]) * p_[i]);
    }
    const float missing = wrong - right + 1;
    if (gradient == nullptr) return static_cast<double>(larger(missing, 0.0F));
    size_t largest = 0;
    for (size_t i = 0; i < size_; ++i) largest += (1 - y_[i]) * p_[i] == wrong;
    for (size_t i = 0; i < size_; ++i) {
      const float rest = 1 - y_[i];
      const float share = rest * p_[i] == wrong ? rest / static_cast<float>(largest) : 0;
      gradient[i] = missing >= 0 ? factor * (share - y_[i]) : 0;
    }
    return static_cast<double>(larger(missing, 0.0F));
  }

  DET_HOST_DEVICE double divergence(float factor, float *gradient) const {
    double value = 0;
    for (size_t i = 0; i < size_; ++i) {
      const float y = limited(y_[i], tiny, 1.0F);
      const float p = limited(p_[i], tiny, 1.0F);
      value += static_cast<double>(y * std::log(y / p));
      if (gradient != nullptr) gradient[i] = p_[i] < tiny || p_[i] > 1 ? 0 : -factor * y / p;
    }
    return value;
  }

  DET_HOST_DEVICE double similarity(float factor, float *gradient) const {
    float squares_of_y = 0;
    float squares_of_p = 0;
    float product = 0;
    for (size_t i = 0; i < size_; ++i) {
      squares_of_y += y_[i] * y_[i];
      squares_of_p += p_[i] * p_[i];
      product += y_[i] * p_[i];
    }
    const float nothing = 1e-12F;
    const float by_y = 1 / std::sqrt(larger(squares_of_y, nothing));
    const float by_p = 1 / std::sqrt(larger(squares_of_p, nothing));
    const float along = squares_of_p >= nothing ? product * by_p * by_p : 0;
    for (size_t i = 0; gradient != nullptr && i < size_; ++i)
      gradient[i] = -factor * by_y * by_p * (y_[i] - along * p_[i]);
    return static_cast<double>(-product * by_y * by_p);
  }

  const LossFunction &of_;
  const float *p_, *y_;
  const size_t size_;
};

}  // namespace loss_arithmetic

}  // namespace det::nn
