// For functions that processors and GPUs both run.
#pragma once

// Before a function: nvcc compiles it for either. It calls functions of std:: that both have, throws
// nothing and allocates nothing.
#ifdef __CUDACC__
#define DET_HOST_DEVICE __host__ __device__
#else
#define DET_HOST_DEVICE
#endif
