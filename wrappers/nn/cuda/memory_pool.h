// Memory of a GPU, or of the process for exchange with it: given back, it is kept for who asks
// next, for the system's own takes as long as a step.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace det::nn {

class MemoryPool {
 public:
  enum class Kind {
    device,   // both reach it; it lies with the device unless the process looks at it
    process,  // both reach it; it lies with the process, where it does not move
  };

  MemoryPool(int device, Kind kind);

  // Of any contents, at an address that all kernels like; freed with the last copy, which keeps the
  // pool alive. Throws Code::no_memory.
  std::shared_ptr<std::byte> allocate(size_t bytes);
  // Whether it is in memory that is in use or kept.
  bool owns(const void *address) const;

 private:
  class Blocks;
  std::shared_ptr<Blocks> blocks_;
};

}  // namespace det::nn
