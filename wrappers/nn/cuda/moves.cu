#include "wrappers/nn/cuda/moves.h"

#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

void gather(const CudaContext &context, const float *from, const Array &to, const Places &places) {
  float *y = to.data();
  for_each(context, to.size(), [=] DET_DEVICE(size_t i) { y[i] = from[places.of(i)]; });
}

void scatter(const CudaContext &context, const Array &from, float *to, const Places &places) {
  const float *x = from.data();
  for_each(context, from.size(), [=] DET_DEVICE(size_t i) { to[places.of(i)] = x[i]; });
}

void move_places(const CudaContext &context, size_t count, const Array &from, const Places &in_from,
                 const Array &to, const Places &in_to) {
  const float *x = from.data();
  float *y = to.data();
  for_each(context, count, [=] DET_DEVICE(size_t i) { y[in_to.of(i)] = x[in_from.of(i)]; });
}

void copy_all(const CudaContext &context, const Array &from, const Array &to) {
  check_cuda(cudaMemcpyAsync(to.raw(), from.raw(), to.bytes(), cudaMemcpyDefault, context.stream()),
             "copying an array on the GPU");
}

void clear(const CudaContext &context, const Array &array) {
  check_cuda(cudaMemsetAsync(array.raw(), 0, array.bytes(), context.stream()),
             "clearing an array on the GPU");
}

}  // namespace det::nn
