#include "wrappers/nn/arithmetic/weight_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/vectorised.h"

namespace det::nn {

namespace {

// What a template would say cannot be said there: only plain functions are compiled for wide
// vectors. Rules are copied, so that no weight could be part of them.
DET_VECTORISED
void walk(SgdRule rule, UpdatedArrays of, size_t count) {
  for (size_t i = 0; i < count; ++i) update_element(rule, of, i);
}

DET_VECTORISED
void walk(MomentumRule rule, UpdatedArrays of, size_t count) {
  for (size_t i = 0; i < count; ++i) update_element(rule, of, i);
}

DET_VECTORISED
void walk(NesterovRule rule, UpdatedArrays of, size_t count) {
  for (size_t i = 0; i < count; ++i) update_element(rule, of, i);
}

DET_VECTORISED
void walk(AdamRule rule, UpdatedArrays of, size_t count) {
  for (size_t i = 0; i < count; ++i) update_element(rule, of, i);
}

DET_VECTORISED
void walk(AmsgradRule rule, UpdatedArrays of, size_t count) {
  for (size_t i = 0; i < count; ++i) update_element(rule, of, i);
}

template <class Rule>
void walk(Rule rule, UpdatedArrays of, size_t count) {
  for (size_t i = 0; i < count; ++i) update_element(rule, of, i);
}

// Whether all are finite, in the end.
DET_VECTORISED
bool multiply_and_check(float *values, size_t count, float by) {
  constexpr uint32_t infinite = 0x7f800000U;
  uint32_t others = 0;
  for (size_t i = 0; i < count; ++i) {
    values[i] *= by;
    others |= (std::bit_cast<uint32_t>(values[i]) & infinite) == infinite ? 1U : 0U;
  }
  return others == 0;
}

}  // namespace

void WeightArithmetic::update(const UpdateRule &rule, const Array &weights, const Array &gradients,
                              std::span<float *const> slots) {
  UpdatedArrays of{weights.data(), gradients.data(), {}};
  std::copy(slots.begin(), slots.end(), of.slots.begin());
  std::visit([&](const auto &one) { walk(one, of, weights.size()); }, rule);
}

void WeightArithmetic::shorten(const Array &values, double longest) {
  double sum = 0;
  for (const float value : values.elements())
    sum += static_cast<double>(value) * static_cast<double>(value);
  const double norm = std::sqrt(sum);
  if (norm <= longest) return;
  const auto by = static_cast<float>(longest / norm);
  for (float &value : values.elements()) value *= by;
}

bool WeightArithmetic::scale_and_check(const Array &values, float by) {
  return multiply_and_check(values.data(), values.size(), by);
}

void WeightArithmetic::limit(const Array &values, float to) {
  for (float &value : values.elements()) value = std::clamp(value, -to, to);
}

void WeightArithmetic::decay(const Array &values, float by) {
  for (float &value : values.elements()) value -= value * by;
}

void WeightArithmetic::follow(const Array &average, const Array &weights, float kept) {
  const float added = 1 - kept;
  const auto from = weights.elements();
  const auto to = average.elements();
  for (size_t i = 0; i < from.size(); ++i) to[i] = kept * to[i] + added * from[i];
}

void WeightArithmetic::copy(const Array &from, const Array &to) {
  std::copy_n(from.data(), from.size(), to.data());
}

void WeightArithmetic::fill(const Array &to, float value) {
  std::fill_n(to.data(), to.size(), value);
}

WeightArithmetic &host_arithmetic() {
  static WeightArithmetic loops;
  return loops;
}

}  // namespace det::nn
