// Curves as the lines of a plot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wrappers/cli/plot/curve_reader.h"
#include "wrappers/cli/plot/figure.h"

namespace det::cli {

enum class Along { steps, epochs, time, relative };

const char *along_name(Along along);
std::optional<Along> along_named(const std::string &name);

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

// Throws Failure (not found) where a curve has no such places at all.
void require_places(const std::vector<Curve> &curves, Along along);

// One panel with a line for each, of the samples that have a place.
Panel panel_of(const std::vector<Curve> &curves, const CurveStyle &style);

}  // namespace det::cli
