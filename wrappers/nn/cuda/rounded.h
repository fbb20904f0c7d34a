// Numbers as 16 bits have them, kept in F32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "wrappers/nn/backend.h"
#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

// To the nearest, ties to even.
DET_DEVICE inline float rounded(float value, Dtype to) {
  return to == Dtype::bf16 ? __bfloat162float(__float2bfloat16_rn(value))
                           : __half2float(__float2half_rn(value));
}

// Where an operation writes its only result: once as it is, and where that is wanted rounded, too.
class Result {
 public:
  explicit Result(const Operands &operands)
      : plain_(operands.outputs.at(0).data()),
        rounded_(operands.rounded ? operands.rounded.data() : nullptr),
        to_(operands.rounded_to) {}

  DET_DEVICE void write(size_t i, float value) const {
    plain_[i] = value;
    if (rounded_ != nullptr) rounded_[i] = rounded(value, to_);
  }

 private:
  float *plain_, *rounded_;
  Dtype to_;
};

}  // namespace det::nn
