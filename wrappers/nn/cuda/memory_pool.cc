#include "wrappers/nn/cuda/memory_pool.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "wrappers/nn/cuda/cuda_context.h"

namespace det::nn {

namespace {

// Blocks have an eighth more than is asked for at most: so that many sizes are few.
size_t rounded(size_t bytes) {
  if (bytes > SIZE_MAX / 2) throw Error(Code::no_memory, "making an array for the GPU: too large");
  size_t step = 512;
  while (step < bytes / 8) step *= 2;
  return (bytes + step - 1) / step * step;
}

}  // namespace

class MemoryPool::Blocks {
 public:
  Blocks(int device, Kind kind) : device_(device), kind_(kind) {}
  Blocks(const Blocks &) = delete;
  Blocks &operator=(const Blocks &) = delete;
  ~Blocks() { release_kept(); }

  std::byte *take(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t size = rounded(bytes);
    if (const auto kept = kept_.find(size); kept != kept_.end()) {
      std::byte *const block = kept->second;
      kept_.erase(kept);
      return block;
    }
    void *block = nullptr;
    cudaError_t status = ask(&block, size);
    // What is kept of other sizes may be what is missing.
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      release_kept();
      status = ask(&block, size);
    }
    check_cuda(status, "making room for " + std::to_string(size) + " bytes " +
                           (kind_ == Kind::device ? "on the GPU" : "to exchange with the GPU"));
    sizes_.emplace(static_cast<std::byte *>(block), size);
    given_ += size;
    return static_cast<std::byte *>(block);
  }

  void give_back(std::byte *block) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_.emplace(sizes_.at(block), block);
  }

  bool owns(const void *address) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto *byte = static_cast<const std::byte *>(address);
    auto after = sizes_.upper_bound(const_cast<std::byte *>(byte));
    if (after == sizes_.begin()) return false;
    --after;
    return byte < after->first + after->second;
  }

 private:
  cudaError_t ask(void **block, size_t size) const {
    if (kind_ == Kind::process) return cudaHostAlloc(block, size, cudaHostAllocPortable);
    // What is beyond the device's own would be given all the same, and moved to and fro in each
    // step.
    size_t free = 0;
    size_t whole = 0;
    if (const cudaError_t status = cudaMemGetInfo(&free, &whole); status != cudaSuccess)
      return status;
    if (size > whole - std::min(whole, given_)) return cudaErrorMemoryAllocation;
    const cudaError_t status = cudaMallocManaged(block, size, cudaMemAttachGlobal);
    // Advice only: devices that take none have it all the same.
    cudaMemLocation here{};
    here.type = cudaMemLocationTypeDevice;
    here.id = device_;
    if (status == cudaSuccess &&
        cudaMemAdvise(*block, size, cudaMemAdviseSetPreferredLocation, here) != cudaSuccess)
      cudaGetLastError();
    return status;
  }

  void release_kept() noexcept {
    for (const auto &[size, block] : kept_) {
      if (kind_ == Kind::process) cudaFreeHost(block);
      else cudaFree(block);
      sizes_.erase(block);
      given_ -= size;
    }
    kept_.clear();
  }

  const int device_;
  const Kind kind_;
  mutable std::mutex mutex_;
  std::map<std::byte *, size_t> sizes_;      // of all blocks
  size_t given_ = 0;                         // their sum
  std::multimap<size_t, std::byte *> kept_;  // that nobody uses
};

MemoryPool::MemoryPool(int device, Kind kind) : blocks_(std::make_shared<Blocks>(device, kind)) {}

std::shared_ptr<std::byte> MemoryPool::allocate(size_t bytes) {
  return {blocks_->take(bytes), [blocks = blocks_](std::byte *block) { blocks->give_back(block); }};
}

bool MemoryPool::owns(const void *address) const { return blocks_->owns(address); }

}  // namespace det::nn
