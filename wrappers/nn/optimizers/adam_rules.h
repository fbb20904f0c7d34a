// Rules of Adam and its relatives. The rests are what their betas leave of 1.
#pragma once

#include <cmath>
#include <cstddef>

#include "wrappers/nn/host_device.h"

namespace det::nn {

struct AdamRule {
  static constexpr size_t slots = 2;
  float alpha, rest_1, rest_2, epsilon;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &m, float &v) const {
    m += (gradient - m) * rest_1;
    v += (gradient * gradient - v) * rest_2;
    weight -= m * alpha / (std::sqrt(v) + epsilon);
  }
};

struct AmsgradRule {
  static constexpr size_t slots = 3;
  float alpha, rest_1, rest_2, epsilon;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &m, float &v,
                                  float &largest) const {
    m += (gradient - m) * rest_1;
    v += (gradient * gradient - v) * rest_2;
    largest = larger(largest, v);
    weight -= m * alpha / (std::sqrt(largest) + epsilon);
  }
};

struct AdamaxRule {
  static constexpr size_t slots = 2;
  float alpha, rest_1, beta_2, epsilon;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &m, float &u) const {
    m += (gradient - m) * rest_1;
    u = larger(beta_2 * u, std::fabs(gradient));
    weight -= alpha * m / (u + epsilon);
  }
};

struct NadamRule {
  static constexpr size_t slots = 2;
  float alpha, rest_1, rest_2, epsilon;
  float by_m, by_gradient, by_v;

  DET_HOST_DEVICE void operator()(float &weight, float gradient, float &m, float &v) const {
    m += (gradient - m) * rest_1;
    v += (gradient * gradient - v) * rest_2;
    weight -= alpha * (by_m * m + by_gradient * gradient) / (std::sqrt(v * by_v) + epsilon);
  }
};

}  // namespace det::nn
