// Which step it is, where loops on the GPU find it.
#pragma once

#include "wrappers/nn/backend.h"
#include "wrappers/nn/cuda/cuda_context.h"

namespace det::nn {

class DeviceStep {
 public:
  explicit DeviceStep(CudaContext &context)
      : state_(context.device_memory().allocate(sizeof(StepState))) {}

  // At every step, which may be one that is replayed: what `state` is then.
  void copy(const CudaContext &context, const StepState *state) const {
    check_cuda(cudaMemcpyAsync(state_.get(), state, sizeof(StepState), cudaMemcpyDefault,
                               context.stream()),
               "telling the GPU which step it is");
  }
  // For loops on the GPU.
  const StepState *get() const { return reinterpret_cast<const StepState *>(state_.get()); }

 private:
  std::shared_ptr<std::byte> state_;
};

}  // namespace det::nn
