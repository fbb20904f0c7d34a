// What there is: one device, its driver and the names of errors.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>

#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_memory.h"

using namespace emulated;

namespace {

cudaError_t check_device(int device) {
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  return device == 0 ? cudaSuccess : noted(cudaErrorInvalidDevice);
}

constexpr int compute_capability[] = {8, 0};
constexpr int threads_in_block = 1024, threads_in_warp = 32, multiprocessors = 4;
constexpr size_t shared_memory = size_t{48} << 10;

struct Named {
  cudaError_t error;
  const char *name, *text;
};

constexpr Named errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
};

const Named *named(cudaError_t error) {
  const auto *const found = std::ranges::find(errors, error, &Named::error);
  return found != std::end(errors) ? found : nullptr;
}

}  // namespace

cudaError_t cudaDriverGetVersion(int *version) {
  const auto lock = locked();
  *version = failure().driver_version;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) {
    if (error == cudaErrorNoDevice) *count = 0;
    return error;
  }
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
  const auto lock = locked();
  *device = 0;
  return device_error();
}

cudaError_t cudaSetDevice(int device) {
  const auto lock = locked();
  return check_device(device);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  const auto lock = locked();
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = threads_in_block;
      break;
    case cudaDevAttrWarpSize:
      *value = threads_in_warp;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = multiprocessors;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = shared_memory;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = compute_capability[0];
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = compute_capability[1];
      break;
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      break;
    default:
      return noted(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
  const auto lock = locked();
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulated device");
  properties->totalGlobalMem = failure().memory;
  properties->sharedMemPerBlock = shared_memory;
  properties->warpSize = threads_in_warp;
  properties->maxThreadsPerBlock = threads_in_block;
  properties->multiProcessorCount = multiprocessors;
  properties->major = compute_capability[0];
  properties->minor = compute_capability[1];
  properties->managedMemory = properties->concurrentManagedAccess = 1;
  properties->unifiedAddressing = properties->memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  *total = failure().memory;
  *free = *total - std::min(*total, used_memory());
  return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t error) {
  const Named *const found = named(error);
  return found != nullptr ? found->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
  const Named *const found = named(error);
  return found != nullptr ? found->text : "unrecognized error code";
}
