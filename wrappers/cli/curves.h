// The metrics of trials as the lines of a plot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "library_client.h"
#include "series.h"

namespace det::cli {

struct Curve {
  int64_t trial = 0;
  std::string group, metric;
  Series series;  // each value that was reported, without a name
};

// Of the metrics named, with or without their group; of none: of the losses. Throws Failure (not
// found), listing what there is, where one of them is missing.
std::vector<Curve> read_curves(Client &client, int64_t trial,
                               const std::vector<std::string> &metrics);

// A line ends where the steps go back, as they may in groups of the user's own.
Series with_gaps(const Series &series);

}  // namespace det::cli
