// One metric of a trial as arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/client/client.h"

namespace det::client {

struct MetricSeries {
  std::vector<int64_t> steps;
  std::vector<double> values;
  std::vector<int64_t> times_us;  // 0: not known
};

// In the order of the reports; what is no number is left out.
MetricSeries read_metric_series(Client &client, int64_t trial_id, const std::string &group,
                                const std::string &name);

}  // namespace det::client
