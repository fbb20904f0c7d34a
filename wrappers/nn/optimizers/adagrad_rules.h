// Rules that go by the sum of all gradients so far.
#pragma once

#include <cmath>
#include <cstddef>

#include "wrappers/nn/host_device.h"

namespace det::nn {

struct AdagradRule {
  static constexpr size_t slots = 1;
  float rate, epsilon;
  bool is_outside;  // epsilon is added to the root

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &sum) const {
    sum += gradient * gradient;
    const float by = is_outside ? std::sqrt(sum) + epsilon : std::sqrt(sum + epsilon);
    weight -= rate * gradient / by;
  }
};

struct AdadeltaRule {
  static constexpr size_t slots = 2;
  float rate, kept, added, epsilon;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &squares,
                                  float &changes) const {
    squares = kept * squares + added * gradient * gradient;
    const float change = std::sqrt(changes + epsilon) * gradient / std::sqrt(squares + epsilon);
    changes = kept * changes + added * change * change;
    weight -= rate * change;
  }
};

struct FtrlRule {
  static constexpr size_t slots = 2;
  float rate, power, l1, l2, shrinkage;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &sum, float &linear) const {
    const float before = raised(sum);
    sum += gradient * gradient;
    const float now = raised(sum);
    linear += gradient + 2 * shrinkage * weight - (now - before) / rate * weight;
    const float beyond = limited(linear, -l1, l1) - linear;
    weight = beyond / (now / rate + 2 * l2);
  }

  DET_HOST_DEVICE float raised(float sum) const {
    return power == 0.5F ? std::sqrt(sum) : std::pow(sum, power);
  }
};

}  // namespace det::nn
