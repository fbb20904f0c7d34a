#include "wrappers/nn/initializers/orthogonal.h"

#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "wrappers/nn/array.h"

namespace det::nn {

namespace {

double product(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void take_off(std::vector<double> &from, const std::vector<double> &direction) {
  const double along = product(from, direction);
  for (size_t i = 0; i < from.size(); ++i) from[i] -= along * direction[i];
}

}  // namespace

// Gram and Schmidt, twice: once leaves a rest where vectors were nearly parallel.
void Orthogonal::fill(std::span<float> values, const Shape &shape, RandomStream &random) const {
  if (shape.size() < 2)
    throw Error(Code::invalid, "filling a weight of " + text_of(shape) +
                                   ": only matrices are orthogonal; use another initializer");
  const auto columns = static_cast<size_t>(shape.back());
  const size_t rows = columns == 0 ? 0 : values.size() / columns;
  const bool is_tall = rows >= columns;
  check_memory(values.size() * sizeof(double), "making an orthogonal matrix");
  std::vector<std::vector<double>> vectors;
  while (vectors.size() < (is_tall ? columns : rows)) {
    std::vector<double> next(is_tall ? rows : columns);
    for (double &number : next) number = random.normal();
    const double before = std::sqrt(product(next, next));
    for (int round = 0; round < 2; ++round)
      for (const std::vector<double> &other : vectors) take_off(next, other);
    const double length = std::sqrt(product(next, next));
    if (length <= 1e-6 * before) continue;  // nothing of it was new
    for (double &number : next) number /= length;
    vectors.push_back(std::move(next));
  }
  for (size_t i = 0; i < vectors.size(); ++i)
    for (size_t j = 0; j < vectors[i].size(); ++j)
      values[is_tall ? j * columns + i : i * columns + j] =
          static_cast<float>(gain_ * vectors[i][j]);
}

}  // namespace det::nn
