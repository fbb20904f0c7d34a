// Where the time of a trial went, as a trace.
#pragma once

#include <cstdint>
#include <string>

#include "core/client/client.h"

namespace det::client {

// In the Trace Event format: a process for each rank of each run. Its regions as they were kept;
// where they were not, the sums that it reported; and what it reported of its training and its
// machine as counters.
std::string trial_trace(Client &client, int64_t trial_id);

}  // namespace det::client
