// Streams of an emulated device. What a stream is given it does when somebody waits for it, and not
// before: whoever reads too early sees old numbers, as on a device that is slow.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace emulated {

using Work = std::function<void()>;

// Gives work to a stream; into its graph while the stream is captured. After an error of the device
// that stays, which is returned, it is dropped. For what stands for kernels, and for the libraries
// that are emulated.
cudaError_t enqueue(cudaStream_t stream, Work work);

}  // namespace emulated
