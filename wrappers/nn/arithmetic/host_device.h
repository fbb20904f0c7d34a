// For functions that processors and GPUs both run.
#pragma once

// Before a function: nvcc compiles it for either. It calls functions of std:: that both have,
// throws nothing and allocates nothing.
#ifdef __CUDACC__
#define DET_HOST_DEVICE __host__ __device__
#else
#define DET_HOST_DEVICE
#endif

namespace det::nn {

// As std::max() and std::clamp(), with what these give for NaN.
DET_HOST_DEVICE constexpr float larger(float a, float b) { return a < b ? b : a; }
DET_HOST_DEVICE constexpr float limited(float x, float low, float high) {
  return x < low ? low : high < x ? high : x;
}

}  // namespace det::nn
