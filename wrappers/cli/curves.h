// The metrics of trials as the lines of a plot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "figure.h"
#include "library_client.h"

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
};

// Of the metrics named, by the name, the last parts of a nested name, the group, or the group and
// one of these; of none: of the losses. Throws Failure (not found), with what may have been meant
// and what there is, where one of them is missing. `with_epochs` also asks the configuration how
// long an epoch is.
std::vector<Curve> read_curves(Client &client, int64_t trial,
                               const std::vector<std::string> &metrics, bool with_epochs);

enum class Along { steps, epochs, time, relative };

// How the curves are drawn.
struct CurveStyle {
  Along along = Along::steps;
  double smoothing = 0;  // as the weight of smoothed()
  bool log_x = false, log_y = false;
};

// Steps, unless one of them has none: the reports of the profiler.
Along usual_along(const std::vector<Curve> &curves);

// What stands along the axis: steps, epochs, or seconds.
double place_of(const Sample &sample, Along along, const Curve &curve);

// One panel with a line for each. Throws Failure (not found) where a curve has no such places.
Panel panel_of(const std::vector<Curve> &curves, const CurveStyle &style);

}  // namespace det::cli
