// The lines of a plot.
#pragma once

#include <string>
#include <vector>

#include "wrappers/cli/plot/axis.h"

namespace det::cli {

struct Point {
  double x = 0;  // finite
  double y = 0;  // not finite: the line has a gap here
};

struct Series {
  std::string name;
  std::vector<Point> points;    // in the order of the line
  size_t not_finite = 0;        // values that were NaN or infinite
  size_t not_positive = 0;      // points that a log axis does not have
  std::vector<Point> raw = {};  // faint behind the line, where that was smoothed
  int colour = -1;              // lines of one trial share theirs; -1: its own
  int dashes = 0;               // and are told apart by these, where 0 is none
};

// The same line with few points: of those that share one of `columns` parts of the axis, the first,
// the last, the lowest and the highest, and one of the gaps.
std::vector<Point> thinned(const std::vector<Point> &points, const Axis &x, size_t columns);

// Smoothed as TensorBoard does: each value is `weight` (from 0, below 1) of the one before and the
// rest of itself, and what the start at 0 is to blame for is divided out. Gaps stay.
std::vector<Point> smoothed(const std::vector<Point> &points, double weight);

// A line ends where x goes back, as the steps may in groups of the user's own.
std::vector<Point> with_gaps(const std::vector<Point> &points);

// Points that axes with these scales have: what is not above 0 becomes a gap of a log axis.
void fit_to_scales(Series &series, Scale x, Scale y);

// "last 0.12, lowest 0.11 at 90, highest 2.3 at 0, 1 not finite".
std::string summary(const Series &series, const Dimension &x);

}  // namespace det::cli
