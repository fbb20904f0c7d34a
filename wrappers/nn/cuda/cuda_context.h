// A GPU that is open: its streams, its libraries, and what their calls answer.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

namespace det::nn {

// Memory of a GPU, or of the process for exchange with it: given back, it is kept for who asks
// next, for the system's own takes as long as a step.

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

// Throw what a call answered, saying what was tried: Code::no_memory, Code::unsupported where there
// is no device or its driver is too old, else Code::internal.
void check_cuda(cudaError_t status, std::string_view doing);
void check_cublas(cublasStatus_t status, std::string_view doing);
void check_cudnn(cudnnStatus_t status, std::string_view doing);

// Shared by a back end, its kernels and their arrays; whoever is last closes it.
class CudaContext {
 public:
  // The device of this process' rank among those of the machine. Throws Code::unsupported, and
  // Code::no_memory.
  CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;
  ~CudaContext();

  // In the thread that calls: before any other call.
  void use() const;
  cudaStream_t stream() const { return stream_; }
  cublasLtHandle_t products() const { return products_; }
  // Its library is large: opened when there is a convolution.
  cudnnHandle_t convolutions();
  // Room for a call of the libraries, on stream() only.
  void *workspace() const { return workspace_.get(); }
  static constexpr size_t workspace_bytes = size_t{32} << 20U;

  MemoryPool &device_memory() { return device_memory_; }
  MemoryPool &process_memory() { return process_memory_; }

  // Copies beside the kernels: after those before it, and before those after it where they may need
  // what is copied.
  void copy(const void *from, void *to, size_t bytes);
  // Kernels that come later run after all copies. Before the end of what is recorded, too.
  void join_copies();
  // Waits for all work. Throws what went wrong meanwhile.
  void synchronize();

 private:
  explicit CudaContext(int device);

  const int device_;
  cudaStream_t stream_ = nullptr, copies_ = nullptr;
  cudaEvent_t computed_ = nullptr, copied_ = nullptr;
  bool has_copies_ = false;
  cublasLtHandle_t products_ = nullptr;
  cudnnHandle_t convolutions_ = nullptr;
  MemoryPool device_memory_, process_memory_;
  std::shared_ptr<std::byte> workspace_;
};

using CudaContextPtr = std::shared_ptr<CudaContext>;

}  // namespace det::nn
