// Where numbers stopped being finite.
#pragma once

#include <string>

#include "wrappers/nn/plan.h"
#include "wrappers/nn/weight_arithmetic.h"

namespace det::nn {

// Asks those who compute with the array; of whole numbers all are.
bool is_finite(const Array &array, WeightArithmetic &arithmetic = host_arithmetic());

// What was the first in a batch that is not finite: an input, a weight, or what a layer gives,
// forward or backward. The batch of `plan`, whose scale of the loss is `loss_scale`, is computed
// anew, by plain loops; what that changes of the weights that are not trained and of the gradients
// is the caller's to give back.
std::string find_not_finite(const Plan &plan, float loss_scale, const Graph &graph,
                            const Objective &objective, Weights &weights, const StepState &state);

}  // namespace det::nn
