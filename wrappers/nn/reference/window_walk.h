// Where the windows of an image are.
#pragma once

#include <algorithm>
#include <cstddef>

#include "wrappers/nn/operations/operations.h"

namespace det::nn {

// The elements of a window along one dimension that are within the image: [first, end).
struct WindowRange {
  int64_t begin;  // of the window, in the image; before it where it is padded
  int64_t first;
  int64_t end;

  WindowRange(const Window &window, size_t d, int64_t at, int64_t size)
      : begin(at * window.strides[d] - window.before[d]),
        first(begin < 0 ? (-begin + window.dilation[d] - 1) / window.dilation[d] : 0),
        end(std::min(window.size[d],
                     begin < size ? (size - begin - 1) / window.dilation[d] + 1 : 0)) {}
};

// Calls visit(place in y, place in x, place in the window), each to be multiplied by the number of
// channels, window by window in the order of rows.
template <class Visit>
void for_each_place(const Window &window, const Shape &x, const Shape &y, const Visit &visit) {
  size_t to = 0;
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t row = 0; row < y[1]; ++row) {
      const WindowRange down(window, 0, row, x[1]);
      for (int64_t column = 0; column < y[2]; ++column, ++to) {
        const WindowRange across(window, 1, column, x[2]);
        for (int64_t i = down.first; i < down.end; ++i)
          for (int64_t j = across.first; j < across.end; ++j) {
            const int64_t from_row = n * x[1] + down.begin + i * window.dilation[0];
            const int64_t from = from_row * x[2] + across.begin + j * window.dilation[1];
            visit(to, static_cast<size_t>(from), static_cast<size_t>(i * window.size[1] + j));
          }
      }
    }
}

}  // namespace det::nn
