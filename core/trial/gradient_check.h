// Whether gradients can be added up over ranks.
#pragma once

#include <vector>

#include "core/trial/gradients.h"

namespace det::trial {

// Collective. Gives the tensors back. Throws the same on all ranks: Code::invalid for what cannot
// be, Code::unsupported for sparse gradients over several batches, Code::conflict where a rank has
// other tensors or options than rank 0.
std::vector<GradientTensor> check_gradients(comm::Communicator &communicator,
                                            std::vector<GradientTensor> tensors,
                                            const GradientOptions &options);

}  // namespace det::trial
