// Gradients, and what is to come of them, where the caller has them: in memory of the process or of
// a CUDA device, as the driver says where the process has loaded it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/tensors/cuda_memory.h"
#include "core/trial/gradient_layout.h"

namespace det::trial {

// For one thread at a time.
class GradientMemory {
 public:
  // `waits_for_queues`: what is queued on a device may still write what is there.
  explicit GradientMemory(bool waits_for_queues) : waits_for_queues_(waits_for_queues) {}

  struct Place {
    char *data = nullptr;
    tensors::CudaDriver::Context context = nullptr;  // none: memory of the process
  };

  // Waits for what was queued on its device before, if asked to. `name` is for errors.
  Place place_of(const std::string &name, const GradientTensor &tensor, const void *data);

  // The bytes of a tensor in memory of the process: where they are, or a copy until the next call.
  const void *read(const Place &place, const GradientTensor &tensor);
  // Where to write them: where they are to be, or room until the next call, from which finish()
  // copies them.
  char *room(const Place &place, const GradientTensor &tensor);
  void finish(const Place &place, const GradientTensor &tensor);

 private:
  const bool waits_for_queues_;
  std::shared_ptr<const tensors::CudaDriver> driver_;  // once it is loaded
  tensors::CudaMemory cuda_;
  std::vector<char> copy_;
};

}  // namespace det::trial
