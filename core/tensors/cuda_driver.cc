#include "core/tensors/cuda_driver.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>

#include "core/base/error.h"

namespace det::tensors {

namespace {

constexpr const char *library_name = "libcuda.so.1";
constexpr CudaDriver::Result out_of_memory = 2;

[[noreturn]] void throw_missing(const std::string &what, const char *reason) {
  throw Error(Code::unsupported,
              "copying tensors of a CUDA device: " + what +
                  (reason != nullptr ? std::string(" (") + reason + ")" : std::string()) +
                  "; install the driver of NVIDIA, or give tensors in the memory of the process");
}

// How many libraries the process has loaded so far: that is known sooner than whether one of them
// is there.
unsigned long long loaded_so_far() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *out) {
        *static_cast<unsigned long long *>(out) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

template <class Function>
void find(void *library, const char *name, Function *&function) {
  function = reinterpret_cast<Function *>(dlsym(library, name));
  if (function == nullptr)
    throw_missing(std::string(library_name) + " has no " + name + "()", nullptr);
}

}  // namespace

#define DET_FIND(name) find(library, #name, name)
CudaDriver::CudaDriver(void *library) {
  DET_FIND(cuInit);
  DET_FIND(cuPointerGetAttribute);
  DET_FIND(cuDeviceGet);
  DET_FIND(cuDevicePrimaryCtxRetain);
  DET_FIND(cuDevicePrimaryCtxRelease_v2);
  DET_FIND(cuCtxPushCurrent_v2);
  DET_FIND(cuCtxPopCurrent_v2);
  DET_FIND(cuCtxSynchronize);
  DET_FIND(cuDeviceGetUuid);
  DET_FIND(cuMemAlloc_v2);
  DET_FIND(cuMemFree_v2);
  DET_FIND(cuMemHostAlloc);
  DET_FIND(cuMemFreeHost);
  DET_FIND(cuStreamCreate);
  DET_FIND(cuStreamDestroy_v2);
  DET_FIND(cuStreamSynchronize);
  DET_FIND(cuStreamQuery);
  DET_FIND(cuMemcpyAsync);
  DET_FIND(cuMemsetD8Async);
  DET_FIND(cuMemcpyDtoHAsync_v2);
  DET_FIND(cuMemcpyHtoDAsync_v2);
  DET_FIND(cuGetErrorString);
}
#undef DET_FIND

// The library is never closed: the driver is not made for that.
std::shared_ptr<const CudaDriver> CudaDriver::loaded() {
  static std::atomic<unsigned long long> not_among_first{0};
  const unsigned long long count = loaded_so_far();
  if (count == not_among_first) return nullptr;
  void *library = dlopen(library_name, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) {
    not_among_first = count;
    return nullptr;
  }
  return std::shared_ptr<const CudaDriver>(new CudaDriver(library));
}

std::shared_ptr<const CudaDriver> CudaDriver::load() {
  void *library = dlopen(library_name, RTLD_NOW);
  if (library == nullptr) throw_missing(std::string(library_name) + " cannot be loaded", dlerror());
  std::shared_ptr<const CudaDriver> driver(new CudaDriver(library));
  driver->check(driver->cuInit(0), "starting the CUDA driver");
  return driver;
}

void CudaDriver::check(Result result, const std::string &tried) const {
  if (result == 0) return;
  const char *text = nullptr;
  if (cuGetErrorString(result, &text) != 0 || text == nullptr) text = "no reason given";
  throw Error(result == out_of_memory ? Code::no_memory : Code::io,
              tried + ": the CUDA driver answers " + std::to_string(result) + " (" + text + ")");
}

}  // namespace det::tensors
