// One metric of a trial, as it was reported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace det::cli {

// What a report of one metric says. What it does not say is NaN.
struct Sample {
  double steps, epoch, time;  // seconds since 1970
  double value;
};

struct Curve {
  int64_t trial = 0;
  std::string group, metric;  // of nested values with dots: "agent.cpu_util_simple"
  std::vector<Sample> samples;
  double start = 0;  // the time of the first sample among the curves of the trial
};

}  // namespace det::cli
