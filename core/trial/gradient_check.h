// Whether gradients can be added up over ranks.
#pragma once

#include "core/trial/gradients.h"

namespace det::trial {

// Collective. Gives what `given` gave. Throws on all ranks what it throws on one: Code::invalid for
// what cannot be, Code::unsupported for sparse gradients over several batches. Code::conflict where
// a rank has other tensors or options than rank 0.
GradientRegistration agree_on_gradients(comm::Communicator &communicator,
                                        const GradientAggregator::Given &given);

}  // namespace det::trial
