// Rules that go by gradients, and at most by what moved a weight before.
#pragma once

#include <cstddef>

#include "wrappers/nn/host_device.h"

namespace det::nn {

struct SgdRule {
  static constexpr size_t slots = 0;
  float rate;

  DET_HOST_DEVICE void operator()(float &weight, float gradient) const {
    weight -= rate * gradient;
  }
};

// A velocity takes part of each gradient, and moves the weight.
struct MomentumRule {
  static constexpr size_t slots = 1;
  float momentum, taken, moved;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &velocity) const {
    velocity = momentum * velocity - taken * gradient;
    weight += moved * velocity;
  }
};

// Moves the weight by what the velocity will be.
struct NesterovRule {
  static constexpr size_t slots = 1;
  float momentum, taken, moved;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &velocity) const {
    const float change = taken * gradient;
    velocity = momentum * velocity - change;
    weight += moved * (momentum * velocity - change);
  }
};

struct LionRule {
  static constexpr size_t slots = 1;
  float rate, beta_1, beta_2;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &m) const {
    const float direction = m * beta_1 + gradient * (1 - beta_1);
    weight -= rate * static_cast<float>((direction > 0) - (direction < 0));
    m = m * beta_2 + gradient * (1 - beta_2);
  }
};

}  // namespace det::nn
