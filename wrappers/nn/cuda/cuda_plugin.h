// The one thing that libdetnn-cuda shows to the layers engine, which opens it at run time: the
// engine itself knows no CUDA.
#pragma once

#include <memory>

#include "wrappers/nn/backend.h"

namespace det::nn {

// Under the name `cuda_plugin_name`. Objects of C++ go in and out, so that both must be of one
// build.
struct CudaPlugin {
  const char *build;  // as cuda_plugin_build
  // Throws Code::unsupported where there is no driver, one that is too old, or no device.
  std::shared_ptr<Backend> (*open)();
};

inline constexpr const char *cuda_plugin_name = "detnn_cuda_plugin";
inline constexpr const char *cuda_plugin_build = DET_NN_BUILD " " __VERSION__;

// The back end of the library that DETNN_CUDA_LIBRARY names, or else of libdetnn-cuda.so.0 beside
// the code that asks, or where the system finds it. It is never closed. Throws Code::unsupported,
// saying why it cannot be had and what to do.
std::shared_ptr<Backend> open_cuda_backend();

}  // namespace det::nn
