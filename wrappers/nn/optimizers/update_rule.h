// What one step does to one weight, written once for all back ends: the numbers of the step, and
// the arithmetic on the weight, its gradient and what is kept beside it.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <variant>

#include "wrappers/nn/arithmetic/host_device.h"

namespace det::nn {

// Rules that go by gradients, and at most by what moved a weight before.

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

// Rules of Adam and its relatives. The rests are what their betas leave of 1.

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

// The rules of RMSprop, which divides gradients by the root of a mean of their squares.

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

// Rules that go by the sum of all gradients so far.

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

using UpdateRule =
    std::variant<SgdRule, MomentumRule, NesterovRule, LionRule, AdamRule, AmsgradRule, AdamaxRule,
                 NadamRule, RmsPropRule, RmsPropMomentumRule, CentredRmsPropRule,
                 CentredRmsPropMomentumRule, AdagradRule, AdadeltaRule, FtrlRule>;

inline constexpr size_t most_slots = 3;  // that a rule takes

// Of one size, side by side; as many slots as the rule takes, in the order of its arguments.
struct UpdatedArrays {
  float *weights;
  const float *gradients;
  std::array<float *, most_slots> slots;
};

// Element `i` of them.
template <class Rule>
DET_HOST_DEVICE inline void update_element(const Rule &rule, const UpdatedArrays &of, size_t i) {
  static_assert(Rule::slots <= most_slots);
  if constexpr (Rule::slots == 0) rule(of.weights[i], of.gradients[i]);
  else if constexpr (Rule::slots == 1) rule(of.weights[i], of.gradients[i], of.slots[0][i]);
  else if constexpr (Rule::slots == 2)
    rule(of.weights[i], of.gradients[i], of.slots[0][i], of.slots[1][i]);
  else rule(of.weights[i], of.gradients[i], of.slots[0][i], of.slots[1][i], of.slots[2][i]);
}

}  // namespace det::nn
