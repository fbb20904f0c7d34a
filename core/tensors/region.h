// Boxes of elements in a tensor: what a file has of it, what a rank has of it, what a reader wants.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/tensors/dtype.h"

namespace det::tensors {

// The size of each dimension, the slowest first; none: a single element.
using Shape = std::vector<uint64_t>;

// More than any framework has; it keeps a damaged file from asking for memory.
inline constexpr size_t most_dimensions = 64;

// "[2, 3]"
std::string text_of(const Shape &shape);

// Nothing where the number does not fit, or is no whole number of bytes.
std::optional<uint64_t> elements_of(const Shape &shape);
std::optional<uint64_t> bytes_of(Dtype dtype, const Shape &shape);

struct Region {
  Shape offset;  // of its first element
  Shape shape;

  static Region whole(const Shape &shape) { return {Shape(shape.size(), 0), shape}; }
  bool operator==(const Region &) const = default;
  bool operator<(const Region &other) const {
    return offset != other.offset ? offset < other.offset : shape < other.shape;
  }
};

// "[2, 3] at [0, 3]"
std::string text_of(const Region &region);

bool lies_in(const Region &region, const Shape &whole);

// What two regions of one tensor have in common; nothing where that is no element.
std::optional<Region> common_of(const Region &one, const Region &other);

// Elements that lie side by side in both of two row-major arrays.
struct Run {
  uint64_t from, to;  // the first element, counted in each array
  uint64_t count;
};

// The runs of `common`, which is part of both `from` and `to`, in their order.
void for_each_run(const Region &common, const Region &from, const Region &to,
                  const std::function<void(const Run &)> &visit);

// Parts of `region` of about `elements` elements at most, each side by side in it, in their order.
void for_each_piece(const Region &region, uint64_t elements,
                    const std::function<void(const Region &)> &visit);

}  // namespace det::tensors
