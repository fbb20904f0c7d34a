#include "wrappers/nn/cuda/narrowed.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

namespace {

void to_bf16(const CudaContext &context, const float *from, __nv_bfloat16 *to, size_t count) {
  for_each(context, count, [=] DET_DEVICE(size_t i) { to[i] = __float2bfloat16_rn(from[i]); });
}

void to_half(const CudaContext &context, const float *from, __half *to, size_t count) {
  for_each(context, count, [=] DET_DEVICE(size_t i) { to[i] = __float2half_rn(from[i]); });
}

void from_bf16(const CudaContext &context, const __nv_bfloat16 *from, float *to, size_t count) {
  for_each(context, count, [=] DET_DEVICE(size_t i) { to[i] = __bfloat162float(from[i]); });
}

void from_half(const CudaContext &context, const __half *from, float *to, size_t count) {
  for_each(context, count, [=] DET_DEVICE(size_t i) { to[i] = __half2float(from[i]); });
}

}  // namespace

Narrowed::Narrowed(const CudaContextPtr &context, size_t elements, Dtype precision)
    : context_(context), elements_(elements), precision_(precision) {
  constexpr size_t bytes_of_element = 2;
  if (precision != Dtype::f32)
    memory_ = context->device_memory().allocate(std::max<size_t>(elements, 1) * bytes_of_element);
}

const void *Narrowed::run(const float *from) const {
  if (!memory_) return from;
  void *const to = memory_.get();
  if (precision_ == Dtype::bf16)
    to_bf16(*context_, from, static_cast<__nv_bfloat16 *>(to), elements_);
  else to_half(*context_, from, static_cast<__half *>(to), elements_);
  return to;
}

void Narrowed::widen(float *to) const {
  if (!memory_) return;
  const void *const from = memory_.get();
  if (precision_ == Dtype::bf16)
    from_bf16(*context_, static_cast<const __nv_bfloat16 *>(from), to, elements_);
  else from_half(*context_, static_cast<const __half *>(from), to, elements_);
}

}  // namespace det::nn
