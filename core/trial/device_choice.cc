#include "core/trial/device_choice.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/agreement.h"
#include "core/trial/reduction.h"

namespace det::trial {

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

DeviceChoice::Answer DeviceChoice::decide(comm::Communicator &communicator,
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
    return {Verdict::devices, std::move(sums_)};
  }
  sums_.reset();
  if (must) throw Error(Code::unsupported, "adding up gradients by NCCL: " + *problem);
  if (communicator.is_chief() && count(unfit) + count(has_device) > 0)
    Logger().write(LogLevel::warning,
                   "gradients of CUDA devices are added up in memory of processes: ", *problem);
  return {Verdict::process};
}

}  // namespace det::trial
