#include "core/trial/device_sums.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/error.h"

namespace det::trial {

namespace {

using tensors::CudaDriver;
using tensors::CudaScope;

constexpr unsigned non_blocking = 1;  // of a stream
constexpr CudaDriver::Result not_ready = 600;

constexpr const char *copying = "copying gradients on a CUDA device";

CudaDriver::Address address_of(const void *data) {
  return static_cast<CudaDriver::Address>(reinterpret_cast<uintptr_t>(data));
}

}  // namespace

DeviceSums::Primary::Primary(const CudaDriver &its_driver, int ordinal) : driver(its_driver) {
  driver.check(driver.cuDeviceGet(&device, ordinal), "looking for a CUDA device");
  driver.check(driver.cuDevicePrimaryCtxRetain(&context, device), "using a CUDA device");
}

DeviceSums::DeviceSums(comm::Communicator &communicator, size_t size,
                       std::shared_ptr<const CudaDriver> driver, int device, bool waits_for_queues)
    : driver_(std::move(driver)),
      primary_(*driver_, device),
      waits_for_queues_(waits_for_queues),
      ranks_(communicator) {
  const CudaScope scope(*driver_, primary_.context);
  try {
    driver_->check(
        driver_->cuMemAlloc_v2(&buffer_, size),
        "getting " + std::to_string(size) + " bytes of a CUDA device to add up gradients in");
    for (CudaDriver::Stream *stream : {&copies_, &sums_})
      driver_->check(driver_->cuStreamCreate(stream, non_blocking), "making a CUDA stream");
    driver_->check(driver_->cuMemsetD8Async(buffer_, 0, size, copies_),
                   "clearing memory of a CUDA device");
    finish();
  } catch (...) {
    release();
    throw;
  }
}

DeviceSums::~DeviceSums() {
  try {
    const CudaScope scope(*driver_, primary_.context);
    ranks_.leave([this] { return !is_summing_ || is_summed(); });
    release();
  } catch (const std::exception &) {
    // The device is gone, and with it what we had of it.
  }
}

void DeviceSums::release() noexcept {
  for (const CudaDriver::Stream stream : {copies_, sums_}) {
    if (stream == nullptr) continue;
    driver_->cuStreamSynchronize(stream);
    driver_->cuStreamDestroy_v2(stream);
  }
  if (buffer_ != 0) driver_->cuMemFree_v2(buffer_);
}

std::string DeviceSums::device_id() const {
  std::string id(16, '\0');
  driver_->check(driver_->cuDeviceGetUuid(id.data(), primary_.device), "looking at a CUDA device");
  return id;
}

void DeviceSums::connect() {
  const CudaScope scope(*driver_, primary_.context);
  ranks_.connect();
}

// Sums are in a queue of the device too. They are waited for first, as that wait ends where a rank
// is lost, and one for a queue does not.
void DeviceSums::put(size_t offset, const void *data, size_t size) {
  if (size == 0) return;
  const CudaScope scope(*driver_, primary_.context);
  if (waits_for_queues_) {
    reduce();
    driver_->check(driver_->cuCtxSynchronize(), "waiting for a CUDA device");
  }
  driver_->check(driver_->cuMemcpyAsync(buffer_ + offset, address_of(data), size, copies_),
                 copying);
  finish();
}

void DeviceSums::start(const GradientLayout::Bucket &bucket) {
  if (bucket.count == 0) return;
  const CudaScope scope(*driver_, primary_.context);
  is_summing_ = true;
  ranks_.average(reinterpret_cast<void *>(buffer_ + bucket.offset), bucket.count, bucket.dtype,
                 sums_);
}

bool DeviceSums::is_summed() const {
  const CudaDriver::Result result = driver_->cuStreamQuery(sums_);
  if (result != not_ready) driver_->check(result, "adding up gradients on a CUDA device");
  return result != not_ready;
}

void DeviceSums::reduce() {
  if (!is_summing_) return;
  const CudaScope scope(*driver_, primary_.context);
  ranks_.wait([this] { return is_summed(); });
  is_summing_ = false;
}

void DeviceSums::take(size_t offset, void *into, size_t size) {
  if (size == 0) return;
  const CudaScope scope(*driver_, primary_.context);
  driver_->check(driver_->cuMemcpyAsync(address_of(into), buffer_ + offset, size, copies_),
                 copying);
}

void DeviceSums::finish() {
  const CudaScope scope(*driver_, primary_.context);
  driver_->check(driver_->cuStreamSynchronize(copies_), copying);
}

}  // namespace det::trial
