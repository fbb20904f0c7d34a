// The rules of RMSprop, which divides gradients by the root of a mean of their squares.
#pragma once

#include <cmath>
#include <cstddef>

#include "wrappers/nn/host_device.h"

namespace det::nn {

// What all of them compute.
struct RmsPropFactors {
  float rate, kept, added, epsilon;
  bool is_outside;  // epsilon is added to the root

  DET_HOST_DEVICE void take_square(float &velocity, float gradient) const {
    velocity = kept * velocity + added * gradient * gradient;
  }
  DET_HOST_DEVICE float variance(float &mean, float velocity, float gradient) const {
    mean = kept * mean + added * gradient;
    return velocity - mean * mean;
  }
  DET_HOST_DEVICE float change(float gradient, float size) const {
    const float by = is_outside ? std::sqrt(size) + epsilon : std::sqrt(size + epsilon);
    return rate * gradient / by;
  }
};

struct RmsPropRule {
  static constexpr size_t slots = 1;
  RmsPropFactors by;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &velocity) const {
    by.take_square(velocity, gradient);
    weight -= by.change(gradient, velocity);
  }
};

struct RmsPropMomentumRule {
  static constexpr size_t slots = 2;
  RmsPropFactors by;
  float momentum;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &velocity,
                                  float &moment) const {
    by.take_square(velocity, gradient);
    moment = momentum * moment + by.change(gradient, velocity);
    weight -= moment;
  }
};

// The centred ones take the mean gradient off: the variance is left.
struct CentredRmsPropRule {
  static constexpr size_t slots = 2;
  RmsPropFactors by;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &velocity,
                                  float &mean) const {
    by.take_square(velocity, gradient);
    weight -= by.change(gradient, by.variance(mean, velocity, gradient));
  }
};

struct CentredRmsPropMomentumRule {
  static constexpr size_t slots = 3;
  RmsPropFactors by;
  float momentum;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &velocity, float &moment,
                                  float &mean) const {
    by.take_square(velocity, gradient);
    const float size = by.variance(mean, velocity, gradient);
    moment = momentum * moment + by.change(gradient, size);
    weight -= moment;
  }
};

}  // namespace det::nn
