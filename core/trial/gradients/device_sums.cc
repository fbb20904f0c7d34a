#include "core/trial/gradients/device_sums.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/log/log.h"
#include "core/comm/agreement.h"
#include "core/trial/gradients/reduction.h"

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

void DeviceSums::start(const GradientLayout::Group &group) {
  if (group.count == 0) return;
  const CudaScope scope(*driver_, primary_.context);
  is_summing_ = true;
  ranks_.average(reinterpret_cast<void *>(buffer_ + group.offset), group.count, group.dtype, sums_);
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

namespace {

using tensors::CudaDriver;

// Numbers of the driver's interface.
constexpr int attribute_context = 1, attribute_memory_type = 2, attribute_is_managed = 8,
              attribute_device_ordinal = 9;
constexpr unsigned memory_of_device = 2;

constexpr const char *mixed = "some gradients are on a CUDA device and others are not";

// What a rank says first; more follows.
constexpr char nothing = '-', in_process = 'p', unfit = 'u', has_device = 'd';

// Why some rank cannot, or two of them not together; the ranks' own words come first.
std::optional<std::string> find_problem(const std::vector<std::string> &said) {
  for (size_t rank = 0; rank < said.size(); ++rank) {
    if (said[rank].front() == has_device) continue;
    return "rank " + std::to_string(rank) +
           (said[rank].front() == unfit ? ": " + said[rank].substr(1)
                                        : " has gradients in memory of the process");
  }
  for (size_t rank = 0; rank < said.size(); ++rank)
    for (size_t before = 0; before < rank; ++before)
      if (said[before] == said[rank])
        return "ranks " + std::to_string(before) + " and " + std::to_string(rank) +
               " have the same CUDA device, and NCCL takes one for each";
  return std::nullopt;
}

// Managed memory counts as memory of its device.
std::optional<int> device_of(const CudaDriver &driver, CudaDriver::Address address) {
  unsigned type = 0, is_managed = 0;
  int device = 0;
  const auto has = [&](auto &value, int attribute) {
    return driver.cuPointerGetAttribute(&value, attribute, address) == 0;
  };
  const bool is_on_device = (has(type, attribute_memory_type) && type == memory_of_device) ||
                            (has(is_managed, attribute_is_managed) && (is_managed & 0xffU) != 0);
  if (!is_on_device || !has(device, attribute_device_ordinal)) return std::nullopt;
  return device;
}

// Memory from a pool has no context of its own.
bool is_of_primary_context(const CudaDriver &driver, int device, CudaDriver::Address address) {
  CudaDriver::Context context = nullptr, primary = nullptr;
  if (driver.cuPointerGetAttribute(&context, attribute_context, address) != 0 || context == nullptr)
    return true;
  int handle = 0;
  driver.check(driver.cuDeviceGet(&handle, device), "looking for a CUDA device");
  driver.check(driver.cuDevicePrimaryCtxRetain(&primary, handle), "using a CUDA device");
  driver.cuDevicePrimaryCtxRelease_v2(handle);
  return context == primary;
}

}  // namespace

void DeviceChoice::see(const void *data, size_t size) {
  if (size == 0 || seen_ == Seen::unfit) return;
  if (driver_ == nullptr) driver_ = CudaDriver::loaded();
  const auto address = static_cast<CudaDriver::Address>(reinterpret_cast<uintptr_t>(data));
  const std::optional<int> device =
      driver_ != nullptr ? device_of(*driver_, address) : std::nullopt;
  if (!device) {
    if (seen_ == Seen::device) refuse(mixed);
    else seen_ = Seen::process;
  } else if (seen_ == Seen::process) {
    refuse(mixed);
  } else if (seen_ == Seen::device && *device != device_) {
    refuse("gradients are on several CUDA devices");
  } else if (!is_of_primary_context(*driver_, *device, address)) {
    refuse("gradients belong to another context of the CUDA device than its primary one");
  } else {
    seen_ = Seen::device;
    device_ = *device;
  }
}

void DeviceChoice::refuse(const char *problem) {
  seen_ = Seen::unfit;
  problem_ = problem;
}

// What this rank could do: with all that it takes, so that others can rely on it.
std::string DeviceChoice::describe(comm::Communicator &communicator, const GradientLayout &layout,
                                   bool waits_for_queues) {
  if (seen_ == Seen::nothing) return {nothing};
  if (seen_ == Seen::process) return {in_process};
  if (seen_ == Seen::unfit) return unfit + problem_;
  try {
    sums_ = std::make_unique<DeviceSums>(communicator, layout.size(), driver_, device_,
                                         waits_for_queues);
    return has_device + sums_->device_id();
  } catch (const Error &error) {
    sums_.reset();
    return unfit + std::string(error.what());
  }
}

DeviceChoice::Decision DeviceChoice::decide(comm::Communicator &communicator,
                                            const GradientLayout &layout, bool must,
                                            bool waits_for_queues) {
  const std::vector<std::string> said = comm::all_agree(communicator, stepping_gradients, [&] {
    return describe(communicator, layout, waits_for_queues);
  });
  const auto count = [&](char what) {
    return std::ranges::count_if(said, [&](const auto &text) { return text.front() == what; });
  };
  if (count(nothing) == std::ssize(said)) return {};
  const std::optional<std::string> problem = find_problem(said);
  if (!problem) {
    sums_->connect();
    return {Where::devices, std::move(sums_)};
  }
  sums_.reset();
  if (must) throw Error(Code::unsupported, "adding up gradients by NCCL: " + *problem);
  if (communicator.is_chief() && count(unfit) + count(has_device) > 0)
    Logger().write(LogLevel::warning,
                   "gradients of CUDA devices are added up in memory of processes: ", *problem);
  return {Where::process};
}

}  // namespace det::trial
