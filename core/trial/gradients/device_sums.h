// Gradients that are added up on the CUDA devices that they are on, by NCCL: where all of all ranks
// are, and each rank has a device of its own. Every rank gets the same bits.
#pragma once

#include <memory>
#include <string>

#include "core/comm/communicator.h"
#include "core/tensors/cuda_driver.h"
#include "core/trial/gradients/gradient_layout.h"
#include "core/trial/gradients/nccl.h"

namespace det::trial {

// A buffer on a CUDA device of each rank, averaged there. For one thread at a time.
class DeviceSums {
 public:
  // Throws Code::unsupported where NCCL cannot be had, and what the driver fails with.
  // `waits_for_queues`: a gradient may still be computed by what is queued on the device when it is
  // put here.
  DeviceSums(comm::Communicator &communicator, size_t size,
             std::shared_ptr<const tensors::CudaDriver> driver, int device, bool waits_for_queues);
  DeviceSums(const DeviceSums &) = delete;
  DeviceSums &operator=(const DeviceSums &) = delete;
  ~DeviceSums();

  // Which of all devices there are it is.
  std::string device_id() const;
  // Collective, on ranks with a device of their own.
  void connect();

  // Memory of any kind, read before this returns.
  void put(size_t offset, const void *data, size_t size);
  // What is there is averaged from now on. All ranks start the same in the same order.
  void start(const GradientLayout::Group &group);
  // Waits for what was started, and so for other ranks.
  void reduce();
  // Into memory of any kind, which has it when finish() returns.
  void take(size_t offset, void *into, size_t size);
  void finish();

 private:
  // The context that all who use the device by CUDA's runtime share.
  struct Primary {
    Primary(const tensors::CudaDriver &its_driver, int ordinal);
    Primary(const Primary &) = delete;
    Primary &operator=(const Primary &) = delete;
    ~Primary() { driver.cuDevicePrimaryCtxRelease_v2(device); }

    const tensors::CudaDriver &driver;
    int device = 0;
    tensors::CudaDriver::Context context = nullptr;
  };

  bool is_summed() const;
  void release() noexcept;

  const std::shared_ptr<const tensors::CudaDriver> driver_;
  const Primary primary_;
  const bool waits_for_queues_;
  NcclRanks ranks_;
  tensors::CudaDriver::Address buffer_ = 0;
  tensors::CudaDriver::Stream copies_ = nullptr, sums_ = nullptr;
  bool is_summing_ = false;
};

// Whether gradients are added up where they are.
class DeviceChoice {
 public:
  // Of a gradient of the first period.
  void see(const void *data, size_t size);

  enum class Where { undecided, devices, process };
  struct Decision {
    Where where = Where::undecided;
    std::unique_ptr<DeviceSums> sums = nullptr;  // of devices, connected
  };
  // Collective, on what was seen; nothing yet leaves it undecided. Where `must`, throws
  // Code::unsupported on all ranks unless it is devices; else it says in the log why gradients of
  // devices are added up in processes.
  Decision decide(comm::Communicator &communicator, const GradientLayout &layout, bool must,
                  bool waits_for_queues);

 private:
  enum class Seen { nothing, process, device, unfit };
  void refuse(const char *problem);
  std::string describe(comm::Communicator &communicator, const GradientLayout &layout,
                       bool waits_for_queues);

  std::shared_ptr<const tensors::CudaDriver> driver_;
  Seen seen_ = Seen::nothing;
  int device_ = 0;
  std::string problem_;  // of what is unfit
  std::unique_ptr<DeviceSums> sums_;
};

}  // namespace det::trial
