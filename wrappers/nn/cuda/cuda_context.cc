#include "wrappers/nn/cuda/cuda_context.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/base/error.h"
#include "core/base/process/environment.h"

namespace det::nn {

namespace {

constexpr int oldest_driver = 13000;  // that runs what CUDA 13 compiled

// Launchers' variables for the number of a rank among those of its machine.
constexpr const char *local_rank_variables[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                                "SLURM_LOCALID", "LOCAL_RANK"};

int local_rank() {
  for (const char *variable : local_rank_variables)
    if (const std::string value = environment_variable(variable); !value.empty())
      return std::max(std::atoi(value.c_str()), 0);
  return 0;
}

Code code_of(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return Code::no_memory;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorSystemNotReady:
    case cudaErrorDevicesUnavailable:
      return Code::unsupported;
    default:
      return Code::internal;
  }
}

Code code_of(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return Code::no_memory;
    case CUDNN_STATUS_NOT_INITIALIZED:
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
    case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
    case CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE:
      return Code::unsupported;
    default:
      return Code::internal;
  }
}

const char *remedy_of(Code code) {
  switch (code) {
    case Code::no_memory:
      return "; smaller batches need less";
    case Code::unsupported:
      return "; nvidia-smi tells which driver and which GPUs there are";
    default:
      // What the GPU computed last is lost, and with most errors the process' way to it.
      return "; resume from the last checkpoint, in a new process";
  }
}

int choose_device() {
  int driver = 0;
  check_cuda(cudaDriverGetVersion(&driver), "asking for the driver of the GPUs");
  if (driver == 0)
    throw Error(Code::unsupported,
                "opening the back end 'cuda': this machine has no driver for GPUs of NVIDIA; take "
                "'onednn' or 'reference', which need no GPU");
  if (driver < oldest_driver)
    throw Error(Code::unsupported,
                "opening the back end 'cuda': the driver of the GPUs is for CUDA " +
                    std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10) +
                    "; install one for CUDA 13 (580 or later), or take 'onednn' or 'reference'");
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "opening the back end 'cuda'");
  if (count == 0) check_cuda(cudaErrorNoDevice, "opening the back end 'cuda'");
  const int device = local_rank() % count;
  check_cuda(cudaSetDevice(device), "opening GPU " + std::to_string(device));
  return device;
}

}  // namespace

void check_cuda(cudaError_t status, std::string_view doing) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // it has been told
  const Code code = code_of(status);
  throw Error(code, std::string(doing) + ": " + cudaGetErrorString(status) + " (" +
                        cudaGetErrorName(status) + ")" + remedy_of(code));
}

void check_cublas(cublasStatus_t status, std::string_view doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const Code code = status == CUBLAS_STATUS_ALLOC_FAILED    ? Code::no_memory
                    : status == CUBLAS_STATUS_ARCH_MISMATCH ? Code::unsupported
                                                            : Code::internal;
  throw Error(code, std::string(doing) + ": cuBLAS answers " +
                        std::to_string(static_cast<int>(status)) + remedy_of(code));
}

void check_cudnn(cudnnStatus_t status, std::string_view doing) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const Code code = code_of(status);
  const char *const remedy = code == Code::unsupported
                                 ? "; install all libraries of cuDNN 9 for CUDA 13, of one version"
                                 : remedy_of(code);
  throw Error(
      code, std::string(doing) + ": cuDNN answers '" + cudnnGetErrorString(status) + "'" + remedy);
}

CudaContext::CudaContext(int device)
    : device_(device),
      device_memory_(device, MemoryPool::Kind::device),
      process_memory_(device, MemoryPool::Kind::process) {}

// What is open by the time that something fails is closed: there is an object already.
CudaContext::CudaContext() : CudaContext(choose_device()) {
  const std::string doing = "opening GPU " + std::to_string(device_);
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), doing);
  check_cuda(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), doing);
  check_cuda(cudaEventCreateWithFlags(&computed_, cudaEventDisableTiming), doing);
  check_cuda(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming), doing);
  check_cublas(cublasLtCreate(&products_), doing);
  workspace_ = device_memory_.allocate(workspace_bytes);
}

CudaContext::~CudaContext() {
  cudaSetDevice(device_);
  if (convolutions_ != nullptr) cudnnDestroy(convolutions_);
  if (products_ != nullptr) cublasLtDestroy(products_);
  for (cudaEvent_t event : {computed_, copied_})
    if (event != nullptr) cudaEventDestroy(event);
  for (cudaStream_t stream : {copies_, stream_})
    if (stream != nullptr) cudaStreamDestroy(stream);
}

void CudaContext::use() const { check_cuda(cudaSetDevice(device_), "taking up the GPU again"); }

cudnnHandle_t CudaContext::convolutions() {
  if (convolutions_ == nullptr) {
    constexpr std::string_view doing = "opening cuDNN";
    cudnnHandle_t handle = nullptr;
    check_cudnn(cudnnCreate(&handle), doing);
    convolutions_ = handle;
    check_cudnn(cudnnSetStream(convolutions_, stream_), doing);
  }
  return convolutions_;
}

void CudaContext::copy(const void *from, void *to, size_t bytes) {
  constexpr std::string_view doing = "copying to or from the GPU";
  check_cuda(cudaEventRecord(computed_, stream_), doing);
  check_cuda(cudaStreamWaitEvent(copies_, computed_, 0), doing);
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, copies_), doing);
  has_copies_ = true;
  if (!process_memory_.owns(to)) join_copies();
}

void CudaContext::join_copies() {
  if (!has_copies_) return;
  constexpr std::string_view doing = "waiting for copies to or from the GPU";
  check_cuda(cudaEventRecord(copied_, copies_), doing);
  check_cuda(cudaStreamWaitEvent(stream_, copied_, 0), doing);
  has_copies_ = false;
}

void CudaContext::synchronize() {
  join_copies();
  check_cuda(cudaStreamSynchronize(stream_), "computing on the GPU");
}

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
