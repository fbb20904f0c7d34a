// Memory of CUDA devices in one call: found, and copied through pinned memory of the process while
// what was copied before is written, or what comes next is read.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/tensors/cuda_driver.h"
#include "core/tensors/tensor.h"

namespace det::tensors {

// Two buffers with a stream each, for one thread at a time.
class CudaStaging {
 public:
  static constexpr size_t size = size_t{4} << 20;

  CudaStaging(const CudaDriver &driver, CudaDriver::Context context);
  CudaStaging(const CudaStaging &) = delete;
  CudaStaging &operator=(const CudaStaging &) = delete;
  ~CudaStaging();

  // Calls `consume` with each part of `bytes` bytes at `from`, in their order, while the next one
  // is copied.
  using Consume = std::function<void(const char *data, size_t size)>;
  void fetch(const char *from, uint64_t bytes, const Consume &consume);

  // Room for `size` bytes, which send() copies to the device meanwhile.
  char *room();
  void send(char *to, size_t bytes);
  void finish();  // all that was sent is there

 private:
  struct Buffer {
    char *memory = nullptr;
    CudaDriver::Stream stream = nullptr;
    size_t filled = 0;
  };
  void wait(const Buffer &buffer) const;
  void release() noexcept;

  const CudaDriver &driver_;
  const CudaDriver::Context context_;
  std::array<Buffer, 2> buffers_;
  size_t next_ = 0;
};

class CudaMemory {
 public:
  CudaMemory() = default;
  CudaMemory(const CudaMemory &) = delete;
  CudaMemory &operator=(const CudaMemory &) = delete;
  ~CudaMemory();

  // The context of the tensor's data; null where that is memory of the process. Waits once for what
  // was queued on its device before. Throws Code::unsupported, Code::invalid.
  CudaDriver::Context context_of(const Tensor &tensor);
  // What is queued from now on context_of() waits for as well.
  void wait_again() { synchronized_.clear(); }

  // From any thread. The staging comes back by itself.
  using Staging = std::unique_ptr<CudaStaging, std::function<void(CudaStaging *)>>;
  Staging staging(CudaDriver::Context context);

  // Between data with that context, or none, and memory of the process.
  void copy_from(CudaDriver::Context context, const char *data, char *to, size_t bytes);
  void copy_to(CudaDriver::Context context, char *data, const char *from, size_t bytes);

 private:
  CudaDriver::Context primary_context(CudaDriver::Address address);
  void synchronize(CudaDriver::Context context);

  std::shared_ptr<const CudaDriver> driver_;
  std::map<int, CudaDriver::Context> primary_;  // by device, to be released
  std::vector<CudaDriver::Context> synchronized_;
  std::mutex mutex_;
  std::map<CudaDriver::Context, std::vector<std::unique_ptr<CudaStaging>>> idle_;
};

}  // namespace det::tensors
