// The work of a step as a CUDA graph.
#pragma once

#include "wrappers/nn/backend.h"
#include "wrappers/nn/cuda/cuda_context.h"

namespace det::nn {

// Gives the work once as it is, so that libraries prepare what they need; records it the next time,
// and replays it from then on.
std::unique_ptr<Recording> make_cuda_recording(const CudaContextPtr &context);

}  // namespace det::nn
