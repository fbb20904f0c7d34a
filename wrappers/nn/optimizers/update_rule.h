// What one step does to one weight, written once for all back ends: the numbers of the step, and
// the arithmetic on the weight, its gradient and what is kept beside it.
#pragma once

#include <array>
#include <variant>

#include "wrappers/nn/optimizers/adagrad_rules.h"
#include "wrappers/nn/optimizers/adam_rules.h"
#include "wrappers/nn/optimizers/rmsprop_rules.h"
#include "wrappers/nn/optimizers/sgd_rules.h"

namespace det::nn {

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
