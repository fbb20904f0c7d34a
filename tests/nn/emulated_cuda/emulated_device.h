// The emulated device: how it is made to fail, its errors, and the lock that all of it is under.
//
// EMULATED_CUDA_FAIL says what goes wrong, and is read again with every call; what failed before is
// forgotten when it changes.
//   no_driver, old_driver, no_device   as the runtime of CUDA reports them
//   memory=BYTES    the device has so much memory in all
//   work=N          the N-th piece of work that is done from now on (1 is the next) accesses an
//                   illegal address: said where it is waited for, and by each call after that
//   capture         a stream that is captured takes no work
//   fused           cuDNN supports no graph of more than one operation: its heuristic says so
//   graphs          cuDNN supports no graph: plans say so
#pragma once

#include <cstddef>
#include <mutex>

#include "tests/nn/emulated_cuda/emulated_stream.h"

namespace emulated {

inline constexpr int driver_version = 13000;
inline constexpr size_t usual_memory = size_t{4} << 30;

struct Failure {
  cudaError_t driver = cudaSuccess;
  int driver_version = emulated::driver_version;
  size_t memory = usual_memory;
  size_t work = 0;  // how many pieces are left until one fails; 0: none fails
  bool capture = false;
  bool fused = false;
  bool graphs = false;
};

// One call at a time: work that is done may wait for other streams.
std::unique_lock<std::recursive_mutex> locked();

// As the variable says it now. Under the lock.
Failure &failure();

// What every call returns first: that there is no device, or that it failed. Under the lock.
cudaError_t device_error();

// Does a piece of work, unless the device failed or fails now.
void perform(const Work &work);

// What a device does that cannot reach the memory it was told of: it fails, as with work=N.
void access_illegal_address();

// Notes an error of a call for cudaGetLastError(), and returns it.
cudaError_t noted(cudaError_t error);

}  // namespace emulated
