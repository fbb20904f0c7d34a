// Copies between host and device, and where managed memory is.
#include <cstring>

#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_memory.h"
#include "tests/nn/emulated_cuda/emulated_stream.h"

namespace emulated {

namespace {

bool may_be_host(const void *pointer) { return place_of(pointer) != Place::device; }
bool may_be_device(const void *pointer) { return place_of(pointer) != Place::other; }

bool fits(cudaMemcpyKind kind, const void *to, const void *from) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return may_be_host(to) && may_be_host(from);
    case cudaMemcpyHostToDevice:
      return may_be_device(to) && may_be_host(from);
    case cudaMemcpyDeviceToHost:
      return may_be_host(to) && may_be_device(from);
    case cudaMemcpyDeviceToDevice:
      return may_be_device(to) && may_be_device(from);
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

cudaError_t check_managed(const void *pointer, size_t size) {
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  const bool managed = place_of(pointer) == Place::managed && is_inside(pointer, size);
  return managed ? cudaSuccess : noted(cudaErrorInvalidValue);
}

}  // namespace

}  // namespace emulated

using namespace emulated;

// Later for any memory: a device that reads the host's page tables takes its time with all of it.
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  if (size == 0) return cudaSuccess;
  if (!fits(kind, to, from) || !is_inside(to, size) || !is_inside(from, size))
    return noted(cudaErrorInvalidValue);
  return enqueue(stream, [to, from, size] { std::memmove(to, from, size); });
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  if (size == 0) return cudaSuccess;
  if (!may_be_device(to) || !is_inside(to, size)) return noted(cudaErrorInvalidValue);
  return enqueue(stream, [to, value, size] { std::memset(to, value, size); });
}

cudaError_t cudaMemAdvise(const void *pointer, size_t size, cudaMemoryAdvise, cudaMemLocation) {
  const auto lock = locked();
  return check_managed(pointer, size);
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, cudaMemLocation, unsigned int,
                                 cudaStream_t stream) {
  const auto lock = locked();
  if (const cudaError_t error = check_managed(pointer, size); error != cudaSuccess) return error;
  return enqueue(stream, [] {});
}
