// What optimizers do, on the GPU.
#pragma once

#include "wrappers/nn/cuda/cuda_context.h"
#include "wrappers/nn/weight_arithmetic.h"

namespace det::nn {

std::unique_ptr<WeightArithmetic> make_cuda_weight_arithmetic(const CudaContextPtr &context);

}  // namespace det::nn
