#include "wrappers/nn/row_exponentials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/vectorised.h"
#include "wrappers/nn/vectorised_exponential.h"

namespace det::nn {

namespace {

using Block = std::array<float, 16>;  // as many as fit into the widest vector

inline float power_of(float x) {
  const auto [excess, scale] = exponential(at_least(at_most(x, 88), -88));
  return scale + scale * excess;
}

// The last elements of a row, filled up with what adds nothing.
inline Block last_block(const float *x, size_t count) {
  Block block;
  for (size_t k = 0; k < block.size(); ++k)
    block[k] = k < count ? x[k] : -std::numeric_limits<float>::infinity();
  return block;
}

inline float sum_of(Block sums) {
  for (size_t width = sums.size() / 2; width > 0; width /= 2)
    for (size_t k = 0; k < width; ++k) sums[k] += sums[k + width];
  return sums[0];
}

DET_VECTORISED
float sum_of_powers(const float *x, float shift, size_t count) {
  Block sums{};
  size_t i = 0;
  for (; i + sums.size() <= count; i += sums.size())
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += power_of(x[i + k] - shift);
  if (i < count) {
    const Block rest = last_block(x + i, count - i);
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += power_of(rest[k] - shift);
  }
  return sum_of(sums);
}

}  // namespace

DET_VECTORISED
float largest_of(const float *x, size_t count) {
  Block largest = last_block(x, std::min(count, Block().size()));
  size_t i = largest.size();
  for (; i + largest.size() <= count; i += largest.size())
    for (size_t k = 0; k < largest.size(); ++k)
      largest[k] = x[i + k] > largest[k] ? x[i + k] : largest[k];
  for (; i < count; ++i) largest[0] = std::max(largest[0], x[i]);
  for (size_t width = largest.size() / 2; width > 0; width /= 2)
    for (size_t k = 0; k < width; ++k) largest[k] = std::max(largest[k], largest[k + width]);
  return largest[0];
}

float log_sum_exp_of(const float *x, size_t count) {
  const float largest = largest_of(x, count);
  return largest + std::log(sum_of_powers(x, largest, count));
}

DET_VECTORISED
void set_exponentials(const float *x, float shift, float by, float *y, size_t count) {
  size_t i = 0;
  for (; i + Block().size() <= count; i += Block().size())
    for (size_t k = 0; k < Block().size(); ++k) y[i + k] = by * power_of(x[i + k] - shift);
  if (i == count) return;
  Block rest = last_block(x + i, count - i);
  for (float &element : rest) element = by * power_of(element - shift);
  std::copy_n(rest.data(), count - i, y + i);
}

}  // namespace det::nn
