// Arrays that every rank shall have as the chief has them: first weights, the state of an
// optimizer.
#pragma once

#include <functional>
#include <vector>

#include "core/comm/communicator.h"
#include "core/tensors/tensor.h"

namespace det::trial {

// Collective. Writes the chief's arrays over those of the other ranks, where they lie. What `given`
// throws on one rank is thrown on all. Throws on all: Code::invalid for arrays that cannot be, and
// parts of arrays; Code::conflict, naming the array, where a rank has others than the chief. After
// any other failure, arrays may be those of the chief only in part.
void broadcast_arrays(comm::Communicator &communicator,
                      const std::function<std::vector<tensors::Tensor>()> &given);

}  // namespace det::trial
