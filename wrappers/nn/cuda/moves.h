// Elements moved from one array into another, on the GPU.
#pragma once

#include "wrappers/nn/array.h"
#include "wrappers/nn/cuda/cuda_context.h"
#include "wrappers/nn/cuda/places.h"

namespace det::nn {

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
