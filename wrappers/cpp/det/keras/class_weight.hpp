// Records that count more than others, by their class.
#pragma once

#include <det/nn/batch.hpp>

#include <cmath>

namespace det {
inline namespace v1 {
namespace keras {

using ClassWeight = std::map<int64_t, double>;

namespace detail {

inline void check_class_weight(const ClassWeight &weights) {
  int64_t next = 0;
  for (const auto &[label, weight] : weights) {
    if (label != next++)
      throw std::invalid_argument(
          "weighting classes: they are numbered from 0 on, and there is no " +
          std::to_string(next - 1));
    if (!std::isfinite(weight))
      throw std::invalid_argument("weighting classes: the weight of " + std::to_string(label) +
                                  " is no number");
  }
}

}  // namespace detail

// The batch with these weights, which a model multiplies in.
[[nodiscard]] inline nn::Batch weighted(nn::Batch batch, const ClassWeight &weights) {
  batch.class_weights.clear();
  for (const auto &[label, weight] : weights) batch.class_weights.push_back(weight);
  return batch;
}

}  // namespace keras
}  // namespace v1
}  // namespace det
