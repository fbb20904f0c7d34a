// Functions of one element and of two, and their derivatives: for processors and GPUs.
#pragma once

#include <cmath>
#include <numbers>

#include "wrappers/nn/arithmetic/activation.h"
#include "wrappers/nn/arithmetic/host_device.h"
#include "wrappers/nn/operations/operations.h"

namespace det::nn {

// Each activation and its derivative, of one element: for processors and GPUs.

inline constexpr float selu_scale = 1.05070098735548F;
inline constexpr float selu_alpha = 1.67326324235437F;

DET_HOST_DEVICE inline float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
// What is no number stays none, here and in relu, as in TensorFlow.
DET_HOST_DEVICE inline float from_0_to(float limit, float x) {
  return x <= 0 ? 0 : x >= limit ? limit : x;
}
DET_HOST_DEVICE inline float softplus(float x) {
  return std::fmax(x, 0.0F) + std::log1p(std::exp(-std::fabs(x)));
}

DET_HOST_DEVICE inline float activate(Activation activation, float x, float alpha = 1) {
  switch (activation) {
    case Activation::linear:
      return x;
    case Activation::relu:
      return x <= 0 ? 0 : x;
    case Activation::relu6:
      return from_0_to(6, x);
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      return std::tanh(x);
    case Activation::elu:
      return x > 0 ? x : alpha * std::expm1(x);
    case Activation::selu:
      return selu_scale * (x > 0 ? x : selu_alpha * std::expm1(x));
    case Activation::softplus:
      return softplus(x);
    case Activation::softsign:
      return x / (1 + std::fabs(x));
    case Activation::exponential:
      return std::exp(x);
    case Activation::hard_sigmoid:
      return from_0_to(1, 0.2F * x + 0.5F);
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::gelu:
      return 0.5F * x * (1 + std::erf(x / std::numbers::sqrt2_v<float>));
    case Activation::gelu_approximate:
      return 0.5F * x * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
    case Activation::mish:
      return x * std::tanh(softplus(x));
    case Activation::leaky_relu:
      return x > 0 ? x : alpha * x;
  }
  __builtin_unreachable();
}

// Of what went in, `x`, and what came out, `y`. Those that derive_from_result() look at y alone.
DET_HOST_DEVICE inline float derivative(Activation activation, float x, float y, float alpha = 1) {
  switch (activation) {
    case Activation::linear:
      return 1;
    case Activation::relu:
      return y > 0 ? 1 : 0;
    case Activation::relu6:
      return y > 0 && y < 6 ? 1 : 0;
    case Activation::sigmoid:
      return y * (1 - y);
    case Activation::tanh:
      return 1 - y * y;
    case Activation::elu:
      return x > 0 ? 1 : y + alpha;
    case Activation::selu:
      return x >= 0 ? selu_scale : y + selu_scale * selu_alpha;
    case Activation::softplus:
      return sigmoid(x);
    case Activation::softsign:
      return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x)));
    case Activation::exponential:
      return y;
    case Activation::hard_sigmoid:
      return y > 0 && y < 1 ? 0.2F : 0;
    case Activation::silu: {
      const float s = sigmoid(x);
      return s * (1 + x * (1 - s));
    }
    case Activation::gelu:
      return 0.5F * (1 + std::erf(x / std::numbers::sqrt2_v<float>)) +
             x * std::exp(-0.5F * x * x) * 0.3989422804F;
    case Activation::gelu_approximate: {
      const float t = std::tanh(0.7978845608F * (x + 0.044715F * x * x * x));
      return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * 0.7978845608F * (1 + 3 * 0.044715F * x * x);
    }
    case Activation::mish: {
      const float t = std::tanh(softplus(x));
      return t + x * (1 - t * t) * sigmoid(x);
    }
    case Activation::leaky_relu:
      return x > 0 ? 1 : alpha;
  }
  __builtin_unreachable();
}

// What is computed of two elements, and its derivatives: for processors and GPUs.

DET_HOST_DEVICE inline float joined(Arithmetic arithmetic, float x, float y) {
  switch (arithmetic) {
    case Arithmetic::add:
      return x + y;
    case Arithmetic::subtract:
      return x - y;
    case Arithmetic::multiply:
      return x * y;
    case Arithmetic::maximum:
      return x >= y ? x : y;
    default:
      return x <= y ? x : y;
  }
}

// Of equal ones the first is the larger, and the smaller.
DET_HOST_DEVICE inline float slope_of_first(Arithmetic arithmetic, float x, float y) {
  switch (arithmetic) {
    case Arithmetic::multiply:
      return y;
    case Arithmetic::maximum:
      return x >= y ? 1 : 0;
    case Arithmetic::minimum:
      return x <= y ? 1 : 0;
    default:
      return 1;
  }
}

DET_HOST_DEVICE inline float slope_of_second(Arithmetic arithmetic, float x, float y) {
  switch (arithmetic) {
    case Arithmetic::add:
      return 1;
    case Arithmetic::subtract:
      return -1;
    case Arithmetic::multiply:
      return x;
    case Arithmetic::maximum:
      return x >= y ? 0 : 1;
    default:
      return x <= y ? 0 : 1;
  }
}

}  // namespace det::nn
