#include "core/tensors/region.h"

#include <algorithm>
#include <numeric>

namespace det::tensors {

namespace {

// Of an array, the elements from one index of dimension `d` to the next.
uint64_t stride_of(const Shape &shape, size_t d) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, shape.end(),
                         uint64_t{1}, std::multiplies<>());
}

// Where the element at `index` of the tensor lies in the array that holds `region`, looking at the
// first `dimensions` of them.
uint64_t place_in(const Region &region, const Shape &index, size_t dimensions) {
  uint64_t place = 0;
  for (size_t d = 0; d < dimensions; ++d)
    place += (index[d] - region.offset[d]) * stride_of(region.shape, d);
  return place;
}

// Calls `visit` with each index of the first `dimensions` of `region`, the last counting fastest.
template <class Visit>
void for_each_index(const Region &region, size_t dimensions, Visit &&visit) {
  Shape index = region.offset;
  for (;;) {
    visit(index);
    size_t d = dimensions;
    while (d > 0 && ++index[d - 1] == region.offset[d - 1] + region.shape[d - 1]) {
      index[d - 1] = region.offset[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

}  // namespace

std::string text_of(const Shape &shape) {
  std::string text = "[";
  for (const uint64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::string text_of(const Region &region) {
  return text_of(region.shape) + " at " + text_of(region.offset);
}

std::optional<uint64_t> elements_of(const Shape &shape) {
  if (std::ranges::count(shape, 0U) > 0) return 0;
  uint64_t elements = 1;
  for (const uint64_t size : shape)
    if (__builtin_mul_overflow(elements, size, &elements)) return std::nullopt;
  return elements;
}

std::optional<uint64_t> bytes_of(Dtype dtype, const Shape &shape) {
  const std::optional<uint64_t> elements = elements_of(shape);
  uint64_t bits = 0;
  if (!elements || __builtin_mul_overflow(*elements, uint64_t{bits_of(dtype)}, &bits) ||
      bits % 8 != 0)
    return std::nullopt;
  return bits / 8;
}

bool lies_in(const Region &region, const Shape &whole) {
  if (region.offset.size() != whole.size() || region.shape.size() != whole.size()) return false;
  for (size_t d = 0; d < whole.size(); ++d)
    if (region.offset[d] > whole[d] || region.shape[d] > whole[d] - region.offset[d]) return false;
  return true;
}

std::optional<Region> common_of(const Region &one, const Region &other) {
  Region common = one;
  for (size_t d = 0; d < one.shape.size(); ++d) {
    const uint64_t begin = std::max(one.offset[d], other.offset[d]);
    const uint64_t end = std::min(one.offset[d] + one.shape[d], other.offset[d] + other.shape[d]);
    if (begin >= end) return std::nullopt;
    common.offset[d] = begin;
    common.shape[d] = end - begin;
  }
  return common;
}

void for_each_run(const Region &common, const Region &from, const Region &to,
                  const std::function<void(const Run &)> &visit) {
  // The dimensions behind `last` are whole in both arrays, so that its indices are side by side.
  const size_t dimensions = common.shape.size();
  size_t last = dimensions == 0 ? 0 : dimensions - 1;
  while (last > 0 && common.shape[last] == from.shape[last] && common.shape[last] == to.shape[last])
    --last;
  const uint64_t count = dimensions == 0 ? 1 : common.shape[last] * stride_of(common.shape, last);
  for_each_index(common, last, [&](const Shape &index) {
    visit({place_in(from, index, dimensions), place_in(to, index, dimensions), count});
  });
}

void for_each_piece(const Region &region, uint64_t elements,
                    const std::function<void(const Region &)> &visit) {
  if (std::ranges::count(region.shape, 0U) > 0) return;
  if (region.shape.empty()) return visit(region);
  // Of the first dimension whose indices are small enough, as many at once as are wanted.
  size_t split = 0;
  while (split + 1 < region.shape.size() && stride_of(region.shape, split) > elements) ++split;
  const uint64_t step = std::max<uint64_t>(1, elements / stride_of(region.shape, split));
  for_each_index(region, split, [&](const Shape &index) {
    Region piece{index, region.shape};
    std::fill_n(piece.shape.begin(), split, 1);
    const uint64_t end = region.offset[split] + region.shape[split];
    for (uint64_t at = region.offset[split]; at < end; at += step) {
      piece.offset[split] = at;
      piece.shape[split] = std::min(step, end - at);
      visit(piece);
    }
  });
}

}  // namespace det::tensors
