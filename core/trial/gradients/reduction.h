// Sums what lies in a buffer of each rank, and divides it. Every rank gets the same bits, whichever
// comes first.
#pragma once

#include <memory>

#include "core/comm/communicator.h"
#include "core/trial/gradients/gradient_layout.h"

namespace det::trial {

inline constexpr comm::Call creating_gradients{comm::ApiCall::trial_gradients_create};
inline constexpr comm::Call stepping_gradients{comm::ApiCall::trial_gradients_step};

class Reduction {
 public:
  virtual ~Reduction() = default;

  // This rank's, of the layout's size, zero at first. Others read it from reduce() to end().
  virtual char *buffer() = 0;
  // The caller has filled a group. All ranks start all of them, in order, before reduce().
  virtual void start(const GradientLayout::Group & /*group*/) {}
  // Collective; all ranks have filled their buffers before any gets here.
  virtual void reduce() = 0;
  // A part of the result, of one dtype, between reduce() and end(). Where buffer() stays where it
  // is, `into` may be the same part of it.
  virtual void read(Dtype dtype, size_t offset, size_t size, char *into) const = 0;
  // Whether buffer() is always the same.
  virtual bool stays() const { return true; }
  // Collective. The buffer belongs to its rank again.
  virtual void end() {}
};

enum class Way {
  automatic,      // the first of these that can be had
  shared_memory,  // all ranks are on one machine
  transport,      // as MPI does it
  messages,       // each machine by itself, then through the chief
  nccl            // on CUDA devices, where the gradients are: see DeviceSums
};

// Collective. Throws Code::unsupported on all ranks where the way cannot be had.
std::unique_ptr<Reduction> make_reduction(comm::Communicator &communicator,
                                          const GradientLayout &layout, double divisor, Way way);

}  // namespace det::trial
