// The CUDA driver, opened at run time: neither it nor its headers are needed to build or to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace det::tensors {

// Of the driver's own functions those that copying needs, by the names that it exports.
class CudaDriver {
 public:
  using Result = int;  // 0: success
  using Context = void *;
  using Stream = void *;
  using Address = unsigned long long;

  // Null where this process has not loaded it: then no pointer is one of a device.
  static std::shared_ptr<const CudaDriver> loaded();
  // Loads and starts it. Throws Code::unsupported where there is none.
  static std::shared_ptr<const CudaDriver> load();

  // Throws, with what the driver says, unless `result` is success.
  void check(Result result, const std::string &tried) const;

  Result (*cuInit)(unsigned flags);
  Result (*cuPointerGetAttribute)(void *value, int attribute, Address pointer);
  Result (*cuDeviceGet)(int *device, int ordinal);
  Result (*cuDevicePrimaryCtxRetain)(Context *context, int device);
  Result (*cuDevicePrimaryCtxRelease_v2)(int device);
  Result (*cuCtxPushCurrent_v2)(Context context);
  Result (*cuCtxPopCurrent_v2)(Context *context);
  Result (*cuCtxSynchronize)();
  Result (*cuDeviceGetUuid)(void *sixteen_bytes, int device);
  Result (*cuMemAlloc_v2)(Address *memory, size_t size);
  Result (*cuMemFree_v2)(Address memory);
  Result (*cuMemHostAlloc)(void **memory, size_t size, unsigned flags);
  Result (*cuMemFreeHost)(void *memory);
  Result (*cuStreamCreate)(Stream *stream, unsigned flags);
  Result (*cuStreamDestroy_v2)(Stream stream);
  Result (*cuStreamSynchronize)(Stream stream);
  Result (*cuStreamQuery)(Stream stream);
  Result (*cuMemcpyAsync)(Address to, Address from, size_t size, Stream stream);  // of any kind
  Result (*cuMemsetD8Async)(Address to, unsigned char value, size_t size, Stream stream);
  Result (*cuMemcpyDtoHAsync_v2)(void *to, Address from, size_t size, Stream stream);
  Result (*cuMemcpyHtoDAsync_v2)(Address to, const void *from, size_t size, Stream stream);
  Result (*cuGetErrorString)(Result result, const char **text);

 private:
  explicit CudaDriver(void *library);
};

// While this is there, the calling thread works in that context.
class CudaScope {
 public:
  CudaScope(const CudaDriver &driver, CudaDriver::Context context) : driver_(driver) {
    driver.check(driver.cuCtxPushCurrent_v2(context), "using a CUDA device");
  }
  CudaScope(const CudaScope &) = delete;
  CudaScope &operator=(const CudaScope &) = delete;
  ~CudaScope() {
    CudaDriver::Context popped = nullptr;
    driver_.cuCtxPopCurrent_v2(&popped);
  }

 private:
  const CudaDriver &driver_;
};

}  // namespace det::tensors
