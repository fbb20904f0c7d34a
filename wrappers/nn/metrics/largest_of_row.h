// The largest elements of a row, of which the first ones are taken where several are alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace det::nn {

class LargestOfRow {
 public:
  // Takes memory for the first row of so many columns alone. `count` is not above that.
  void find(const float *row, size_t columns, size_t count) {
    order_.resize(columns);
    is_among_.assign(columns, 0);
    std::iota(order_.begin(), order_.end(), size_t{0});
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(count);
    // What is no number is the smallest: an order has to be one.
    const auto at_place = [row](size_t place) {
      return std::isnan(row[place]) ? -std::numeric_limits<float>::infinity() : row[place];
    };
    std::partial_sort(order_.begin(), end, order_.end(), [&](size_t one, size_t other) {
      return at_place(one) > at_place(other) || (at_place(one) == at_place(other) && one < other);
    });
    for (auto at = order_.begin(); at != end; ++at) is_among_[*at] = 1;
  }
  bool has(size_t column) const { return is_among_[column] != 0; }

 private:
  std::vector<size_t> order_;
  std::vector<uint8_t> is_among_;
};

}  // namespace det::nn
