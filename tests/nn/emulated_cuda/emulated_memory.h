// What memory the emulated device has given, and who may touch it.
#pragma once

#include <cstddef>

namespace emulated {

enum class Place {
  device,   // cudaMalloc(), cudaMallocAsync(): on a real device the host cannot touch it
  managed,  // cudaMallocManaged()
  pinned,   // cudaHostAlloc()
  other     // not from here
};

Place place_of(const void *pointer);

// Whether what begins at the pointer is wholly inside one allocation, if it is in one at all.
bool is_inside(const void *pointer, size_t size);

// Whether the device can read and write so many bytes there.
bool is_reachable(const void *pointer, size_t size);

// Bytes of the device that are in use.
size_t used_memory();

}  // namespace emulated
