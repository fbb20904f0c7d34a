// Elements moved from one array into another, on the GPU.
#pragma once

#include <optional>

#include "wrappers/nn/arithmetic/host_device.h"
#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/arrays/array_shape.h"
#include "wrappers/nn/cuda/cuda_context.h"

namespace det::nn {

// Where elements of one array are in another, of up to eight axes.

// For the element `i` of an array of these sizes: offset + the sum of its numbers along the axes
// times the strides. Copied into loops on the GPU.
struct Places {
  static constexpr size_t most_axes = 8;

  size_t axes = 0;
  int64_t sizes[most_axes] = {};
  int64_t strides[most_axes] = {};
  int64_t offset = 0;

  DET_HOST_DEVICE size_t of(size_t i) const {
    int64_t place = offset;
    auto rest = static_cast<int64_t>(i);
    for (size_t axis = axes; axis-- > 0;) {
      place += rest % sizes[axis] * strides[axis];
      rest /= sizes[axis];
    }
    return static_cast<size_t>(place);
  }
};

// How far apart neighbours along each axis lie.
inline Shape strides_of(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

inline Places make_places(const Shape &sizes, const Shape &strides, int64_t offset = 0) {
  Places places{sizes.size(), {}, {}, offset};
  for (size_t i = 0; i < sizes.size(); ++i) {
    places.sizes[i] = sizes[i];
    places.strides[i] = strides[i];
  }
  return places;
}

// to[i] = from[places of i]
void gather(const CudaContext &context, const float *from, const Array &to, const Places &places);
// to[places of i] = from[i]
void scatter(const CudaContext &context, const Array &from, float *to, const Places &places);
// to[in_to of i] = from[in_from of i], for the first `count`.
void move_places(const CudaContext &context, size_t count, const Array &from, const Places &in_from,
                 const Array &to, const Places &in_to);
void copy_all(const CudaContext &context, const Array &from, const Array &to);
void clear(const CudaContext &context, const Array &array);

}  // namespace det::nn
