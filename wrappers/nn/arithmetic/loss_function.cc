#include "wrappers/nn/arithmetic/loss_function.h"

#include <algorithm>

#include "wrappers/nn/arithmetic/loss_arithmetic.h"

namespace det::nn {

double LossFunction::value(const float *prediction, const float *truth, size_t size) const {
  return loss_arithmetic::RowFunction(*this, prediction, truth, size).compute(0, nullptr);
}

void LossFunction::differentiate(const float *prediction, const float *truth, size_t size,
                                 float factor, float *gradient) const {
  loss_arithmetic::RowFunction(*this, prediction, truth, size).compute(factor, gradient);
}

double sparse_crossentropy(const float *prediction, size_t size, size_t label, bool from_logits) {
  return loss_arithmetic::sparse_crossentropy(prediction, size, label, from_logits);
}

float log_sum_exp(const float *x, size_t size) { return loss_arithmetic::log_sum_exp(x, size); }

bool is_binary(const float *truth, size_t size) {
  return std::all_of(truth, truth + size, [](float label) { return label == 0 || label == 1; });
}

}  // namespace det::nn
