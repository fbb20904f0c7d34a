// Metrics of all ranks as one.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/json.h"
#include "core/comm/communicator.h"

namespace det::trial {

// Collective. `metrics` gives an object; what it throws is thrown on all ranks. The mean of each
// metric over the ranks, with sorted keys; each rank counts as much as its weight, or where nobody
// gives one, the same. Whole numbers stay whole where their mean is; what is no number is the
// chief's. Throws on all ranks: Code::conflict where they have not the same metrics, or only some
// give a weight; Code::invalid for metrics that are no object, and for weights that are negative,
// or all 0.
Json average_metrics(comm::Communicator &communicator, const std::function<std::string()> &metrics,
                     std::optional<double> weight = {});

}  // namespace det::trial
