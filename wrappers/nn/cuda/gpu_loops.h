// Loops on the GPU: over elements, and over rows with sums within them. A build without nvcc names
// in DET_GPU_LOOPS a header that has RowGroup, for_each() and for_each_row() of its own.
#pragma once

#include <cstddef>

#include "wrappers/nn/arithmetic/host_device.h"
#include "wrappers/nn/cuda/cuda_context.h"

#ifdef __CUDACC__
#define DET_DEVICE __device__
#else
#define DET_DEVICE
#endif

namespace det::nn {

inline constexpr std::string_view giving_work = "giving work to the GPU";

}  // namespace det::nn

#ifdef DET_GPU_LOOPS
#include DET_GPU_LOOPS
#else

namespace det::nn {

inline constexpr int threads_of_block = 256;

// The threads that share a row: each of them runs the row's function.
class RowGroup {
 public:
  template <class Visit>
  DET_DEVICE void each(size_t count, const Visit &visit) const {
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) visit(i);
    __syncthreads();
  }
  // The same for all of them. In an order that depends on the count alone.
  template <class Value>
  DET_DEVICE float sum(size_t count, const Value &value) const {
    float own = 0;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) own += value(i);
    return reduced(own, [](float a, float b) { return a + b; });
  }
  // NaN where one of them is.
  template <class Value>
  DET_DEVICE float largest(size_t count, const Value &value) const {
    const auto larger = [](float a, float b) { return a > b || a != a ? a : b; };
    float own = -INFINITY;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) own = larger(value(i), own);
    return reduced(own, larger);
  }
  // One of them.
  DET_DEVICE bool is_first() const { return threadIdx.x == 0; }

 private:
  template <class Join>
  DET_DEVICE static float reduced(float own, const Join &join) {
    __shared__ float parts[threads_of_block];
    parts[threadIdx.x] = own;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half)
        parts[threadIdx.x] = join(parts[threadIdx.x], parts[threadIdx.x + half]);
      __syncthreads();
    }
    const float all = parts[0];
    __syncthreads();
    return all;
  }
};

template <class Visit>
__global__ void visit_elements(size_t count, Visit visit) {
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x)
    visit(i);
}

template <class Visit>
__global__ void visit_rows(size_t rows, Visit visit) {
  for (size_t row = blockIdx.x; row < rows; row += gridDim.x) visit(RowGroup(), row);
}

inline constexpr size_t most_blocks = 1U << 16U;

// What an earlier call of anybody's left as the last error is not taken for that of this one.
template <class Visit>
void launch(const CudaContext &context, void (*kernel)(size_t, Visit), size_t blocks,
            unsigned threads, size_t count, const Visit &visit) {
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks));
  configuration.blockDim = dim3(threads);
  configuration.stream = context.stream();
  check_cuda(cudaLaunchKernelEx(&configuration, kernel, count, visit), giving_work);
}

// visit(i) for each element, in any order.
template <class Visit>
void for_each(const CudaContext &context, size_t count, const Visit &visit) {
  if (count == 0) return;
  const size_t blocks = (count + threads_of_block - 1) / threads_of_block;
  launch(context, visit_elements<Visit>, blocks, threads_of_block, count, visit);
}

// visit(group, row) for each row of about `length` elements, in any order.
template <class Visit>
void for_each_row(const CudaContext &context, size_t rows, size_t length, const Visit &visit) {
  if (rows == 0) return;
  unsigned threads = 32;
  while (threads < length && threads < threads_of_block) threads *= 2;
  launch(context, visit_rows<Visit>, rows, threads, rows, visit);
}

}  // namespace det::nn

#endif
