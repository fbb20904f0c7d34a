// One metric of a trial as arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/client/client.h"

namespace det::client {

struct MetricSeries {
  std::vector<int64_t> steps;  // no_steps: of a time alone
  std::vector<double> values;
  std::vector<int64_t> times_us;  // 0: not known
};

// In the order of the reports; what is no number is left out. `name` may be that of a value in an
// object: "agent.memory_free".
MetricSeries read_metric_series(Client &client, int64_t trial_id, const std::string &group,
                                const std::string &name);

}  // namespace det::client
