#include "tests/nn/emulated_cuda/emulated_memory.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/nn/emulated_cuda/emulated_counts.h"
#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_queue.h"

namespace emulated {

namespace {

// Numbers that nobody wrote, or that are read after they were freed, are NaN in each type.
constexpr int not_a_number = 0xff;
constexpr size_t alignment = 256;  // as CUDA promises

struct Allocation {
  size_t size;
  Place place;
};

// Managed memory is where it is used: there may be more of it than the device has.
bool is_of_device(Place place) { return place == Place::device; }

auto &allocations = *new std::map<uintptr_t, Allocation>;
size_t used = 0;

uintptr_t address(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

auto allocation_of(const void *pointer) {
  auto after = allocations.upper_bound(address(pointer));
  if (after == allocations.begin()) return allocations.end();
  const auto found = std::prev(after);
  return address(pointer) - found->first < found->second.size ? found : allocations.end();
}

cudaError_t allocate(void **pointer, size_t size, Place place) {
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  if (const cudaError_t error = refused_while_capturing(); error != cudaSuccess) return error;
  *pointer = nullptr;
  if (size == 0) return cudaSuccess;
  const bool of_device = is_of_device(place);
  if (of_device && size > failure().memory - std::min(used, failure().memory))
    return noted(cudaErrorMemoryAllocation);
  ++counts().allocations;
  if (posix_memalign(pointer, alignment, size) != 0) return noted(cudaErrorMemoryAllocation);
  std::memset(*pointer, not_a_number, size);
  allocations[address(*pointer)] = {size, place};
  if (of_device) used += size;
  return cudaSuccess;
}

void release(void *pointer) {
  const auto found = allocations.find(address(pointer));
  if (found == allocations.end()) return;
  if (is_of_device(found->second.place)) used -= found->second.size;
  std::memset(pointer, not_a_number, found->second.size);
  allocations.erase(found);
  std::free(pointer);
}

// Memory must be at its beginning, and from the function that belongs to the one that frees it.
cudaError_t check_free(void *pointer, bool pinned) {
  const auto found = allocations.find(address(pointer));
  const bool fits = found != allocations.end() && (found->second.place == Place::pinned) == pinned;
  return fits ? cudaSuccess : noted(cudaErrorInvalidValue);
}

// As a device does, it waits for whoever may still use the memory.
cudaError_t free_after_all(void *pointer, bool pinned) {
  if (pointer == nullptr) return device_error();
  if (const cudaError_t error = check_free(pointer, pinned); error != cudaSuccess) return error;
  if (const cudaError_t error = refused_while_capturing(); error != cudaSuccess) return error;
  run_all();
  release(pointer);
  return device_error();
}

}  // namespace

Place place_of(const void *pointer) {
  const auto lock = locked();
  const auto found = allocation_of(pointer);
  return found == allocations.end() ? Place::other : found->second.place;
}

bool is_inside(const void *pointer, size_t size) {
  const auto lock = locked();
  const auto found = allocation_of(pointer);
  return found == allocations.end() ||
         size <= found->second.size - (address(pointer) - found->first);
}

bool is_reachable(const void *pointer, size_t size) {
  return place_of(pointer) != Place::other && is_inside(pointer, size);
}

size_t used_memory() { return used; }

}  // namespace emulated

using namespace emulated;

cudaError_t cudaMalloc(void **pointer, size_t size) {
  const auto lock = locked();
  return allocate(pointer, size, Place::device);
}

cudaError_t cudaMallocManaged(void **pointer, size_t size, unsigned int flags) {
  const auto lock = locked();
  if (flags != cudaMemAttachGlobal) return noted(cudaErrorNotSupported);
  return allocate(pointer, size, Place::managed);
}

cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int) {
  const auto lock = locked();
  return allocate(pointer, size, Place::pinned);
}

// In a capture this would be a part of the graph, which nobody needs yet.
cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t) {
  const auto lock = locked();
  return allocate(pointer, size, Place::device);
}

cudaError_t cudaFree(void *pointer) {
  const auto lock = locked();
  return free_after_all(pointer, false);
}

cudaError_t cudaFreeHost(void *pointer) {
  const auto lock = locked();
  return free_after_all(pointer, true);
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  if (const cudaError_t error = check_free(pointer, false); error != cudaSuccess) return error;
  if (const cudaError_t error = refused_while_capturing(); error != cudaSuccess) return error;
  enqueue(stream, [pointer] { release(pointer); });
  return cudaSuccess;
}
