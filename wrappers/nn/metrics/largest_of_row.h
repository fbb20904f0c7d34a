// The largest elements of a row, of which the first ones are taken where several are alike.
#pragma once

#include <algorithm>
#include <cstdint>
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
    std::partial_sort(order_.begin(), end, order_.end(), [row](size_t one, size_t other) {
      return row[one] > row[other] || (row[one] == row[other] && one < other);
    });
    for (auto at = order_.begin(); at != end; ++at) is_among_[*at] = 1;
  }
  bool has(size_t column) const { return is_among_[column] != 0; }

 private:
  std::vector<size_t> order_;
  std::vector<uint8_t> is_among_;
};

}  // namespace det::nn
