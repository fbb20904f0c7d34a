#include "core/trial/reduction.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/comm/agreement.h"

namespace det::trial {

namespace {

// What this rank could do: all ranks must.
std::string ways_of(const comm::Communicator &communicator) {
  const comm::Ranks &ranks = communicator.ranks();
  const bool is_one_machine = ranks.local_size == ranks.size;
  return {communicator.shares_memory() && is_one_machine ? '1' : '0',
          communicator.can_sum() ? '1' : '0'};
}

}  // namespace

std::unique_ptr<Reduction> make_reduction(comm::Communicator &communicator,
                                          const GradientLayout &layout, double divisor, Way way) {
  if (communicator.ranks().size == 1) return make_lone_reduction(layout, divisor);
  const std::vector<std::string> ways =
      comm::all_agree(communicator, creating_gradients, [&] { return ways_of(communicator); });
  const auto all_can = [&](size_t index) {
    return std::ranges::all_of(ways, [&](const std::string &can) { return can[index] == '1'; });
  };
  const bool in_memory = all_can(0), by_transport = all_can(1);
  if ((way == Way::shared_memory && !in_memory) || (way == Way::transport && !by_transport))
    throw Error(Code::unsupported,
                way == Way::transport
                    ? "making a gradient aggregator: this job's transport does not sum; make its "
                      "handle with det_distributed_from_mpi(), or let the library choose the way"
                    : "making a gradient aggregator: the ranks of this job share no memory, or are "
                      "on several machines; let the library choose the way");
  if (way == Way::transport || (way == Way::automatic && !in_memory && by_transport))
    return make_transport_reduction(communicator, layout, divisor);
  return make_machine_reduction(
      communicator, layout, divisor,
      communicator.shares_memory() && communicator.ranks().local_size > 1);
}

}  // namespace det::trial
