// Whether gradients are added up on the CUDA devices that they are on: where all of all ranks are,
// each rank has a device of its own, and NCCL is there.
#pragma once

#include <memory>
#include <string>

#include "core/comm/communicator.h"
#include "core/trial/device_sums.h"

namespace det::trial {

class DeviceChoice {
 public:
  // Of a gradient of the first period.
  void see(const void *data, size_t size);

  enum class Verdict { undecided, devices, process };
  struct Answer {
    Verdict verdict = Verdict::undecided;
    std::unique_ptr<DeviceSums> sums = nullptr;  // of devices, connected
  };
  // Collective, on what was seen; nothing yet leaves it undecided. Where `must`, throws
  // Code::unsupported on all ranks unless it is devices; else it says in the log why gradients of
  // devices are added up in processes.
  Answer decide(comm::Communicator &communicator, const GradientLayout &layout, bool must,
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
