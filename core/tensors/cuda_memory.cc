#include "core/tensors/cuda_memory.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::tensors {

namespace {

// Numbers of the driver's interface.
constexpr int attribute_context = 1, attribute_memory_type = 2, attribute_device_ordinal = 9;
constexpr unsigned memory_of_device = 2;
constexpr unsigned for_all_contexts = 1;  // of pinned memory
constexpr unsigned non_blocking = 1;      // of a stream

CudaDriver::Address address_of(const char *data) {
  return static_cast<CudaDriver::Address>(reinterpret_cast<uintptr_t>(data));
}

}  // namespace

CudaStaging::CudaStaging(const CudaDriver &driver, CudaDriver::Context context)
    : driver_(driver), context_(context) {
  const CudaScope scope(driver_, context_);
  try {
    for (Buffer &buffer : buffers_) {
      void *memory = nullptr;
      driver_.check(driver_.cuMemHostAlloc(&memory, size, for_all_contexts),
                    "getting pinned memory to copy tensors through");
      buffer.memory = static_cast<char *>(memory);
      driver_.check(driver_.cuStreamCreate(&buffer.stream, non_blocking), "making a CUDA stream");
    }
  } catch (...) {
    release();
    throw;
  }
}

CudaStaging::~CudaStaging() {
  try {
    const CudaScope scope(driver_, context_);
    release();
  } catch (const std::exception &) {
    // The device is gone, and with it what we had of it.
  }
}

// What is under way may still write into the buffers.
void CudaStaging::release() noexcept {
  for (Buffer &buffer : buffers_) {
    if (buffer.stream != nullptr) {
      driver_.cuStreamSynchronize(buffer.stream);
      driver_.cuStreamDestroy_v2(buffer.stream);
    }
    if (buffer.memory != nullptr) driver_.cuMemFreeHost(buffer.memory);
  }
}

void CudaStaging::wait(const Buffer &buffer) const {
  driver_.check(driver_.cuStreamSynchronize(buffer.stream), "copying tensors of a CUDA device");
}

void CudaStaging::fetch(const char *from, uint64_t bytes, const Consume &consume) {
  const CudaScope scope(driver_, context_);
  uint64_t asked = 0;
  const auto ask = [&](Buffer &buffer) {
    buffer.filled = std::min<uint64_t>(size, bytes - asked);
    if (buffer.filled == 0) return;
    driver_.check(driver_.cuMemcpyDtoHAsync_v2(buffer.memory, address_of(from + asked),
                                               buffer.filled, buffer.stream),
                  "copying tensors from a CUDA device");
    asked += buffer.filled;
  };
  ask(buffers_[0]);
  uint64_t taken = 0;
  for (size_t turn = 0; taken < bytes; ++turn) {
    const Buffer &now = buffers_[turn % 2];
    ask(buffers_[(turn + 1) % 2]);
    wait(now);
    consume(now.memory, now.filled);
    taken += now.filled;
  }
}

char *CudaStaging::room() {
  const CudaScope scope(driver_, context_);
  wait(buffers_[next_]);
  return buffers_[next_].memory;
}

void CudaStaging::send(char *to, size_t bytes) {
  const CudaScope scope(driver_, context_);
  const Buffer &buffer = buffers_[next_];
  driver_.check(driver_.cuMemcpyHtoDAsync_v2(address_of(to), buffer.memory, bytes, buffer.stream),
                "copying tensors to a CUDA device");
  next_ = 1 - next_;
}

void CudaStaging::finish() {
  const CudaScope scope(driver_, context_);
  for (const Buffer &buffer : buffers_) wait(buffer);
}

CudaMemory::~CudaMemory() {
  idle_.clear();
  for (const auto &[device, context] : primary_) driver_->cuDevicePrimaryCtxRelease_v2(device);
}

CudaDriver::Context CudaMemory::context_of(const Tensor &tensor) {
  if (tensor.device == Device::host || tensor.bytes() == 0) return nullptr;
  if (driver_ == nullptr)
    driver_ = tensor.device == Device::cuda ? CudaDriver::load() : CudaDriver::loaded();
  if (driver_ == nullptr) return nullptr;
  const CudaDriver::Address address = address_of(tensor.data);
  unsigned type = 0;
  // It knows nothing of memory that is not its own, and of none before it is started.
  const bool known = driver_->cuPointerGetAttribute(&type, attribute_memory_type, address) == 0;
  if (!known || type != memory_of_device) {
    if (tensor.device == Device::detect) return nullptr;
    throw Error(Code::invalid, "tensor " + quoted_name(tensor.name) +
                                   ": its data is no memory of a CUDA device; give it as memory "
                                   "of the process");
  }
  CudaDriver::Context context = nullptr;
  // Memory from a pool has no context of its own.
  if (driver_->cuPointerGetAttribute(&context, attribute_context, address) != 0 ||
      context == nullptr)
    context = primary_context(address);
  synchronize(context);
  return context;
}

CudaDriver::Context CudaMemory::primary_context(CudaDriver::Address address) {
  int ordinal = 0, device = 0;
  driver_->check(driver_->cuPointerGetAttribute(&ordinal, attribute_device_ordinal, address),
                 "looking for the CUDA device of a tensor");
  driver_->check(driver_->cuDeviceGet(&device, ordinal), "looking for a CUDA device");
  if (const auto found = primary_.find(device); found != primary_.end()) return found->second;
  CudaDriver::Context context = nullptr;
  driver_->check(driver_->cuDevicePrimaryCtxRetain(&context, device), "using a CUDA device");
  primary_[device] = context;
  return context;
}

void CudaMemory::synchronize(CudaDriver::Context context) {
  if (std::ranges::count(synchronized_, context) > 0) return;
  const CudaScope scope(*driver_, context);
  driver_->check(driver_->cuCtxSynchronize(), "waiting for a CUDA device");
  synchronized_.push_back(context);
}

CudaMemory::Staging CudaMemory::staging(CudaDriver::Context context) {
  std::unique_ptr<CudaStaging> found;
  {
    const std::lock_guard lock(mutex_);
    if (auto &idle = idle_[context]; !idle.empty()) {
      found = std::move(idle.back());
      idle.pop_back();
    }
  }
  if (found == nullptr) found = std::make_unique<CudaStaging>(*driver_, context);
  return Staging(found.release(), [this, context](CudaStaging *used) {
    std::unique_ptr<CudaStaging> back(used);
    const std::lock_guard lock(mutex_);
    idle_[context].push_back(std::move(back));
  });
}

void CudaMemory::copy_from(CudaDriver::Context context, const char *data, char *to, size_t bytes) {
  if (context == nullptr) {
    std::copy_n(data, bytes, to);
    return;
  }
  staging(context)->fetch(
      data, bytes, [&](const char *copied, size_t size) { to = std::copy_n(copied, size, to); });
}

void CudaMemory::copy_to(CudaDriver::Context context, char *data, const char *from, size_t bytes) {
  if (context == nullptr) {
    std::copy_n(from, bytes, data);
    return;
  }
  const Staging staged = staging(context);
  for (size_t done = 0; done < bytes; done += CudaStaging::size) {
    const size_t part = std::min(CudaStaging::size, bytes - done);
    std::copy_n(from + done, part, staged->room());
    staged->send(data + done, part);
  }
  staged->finish();
}

}  // namespace det::tensors
