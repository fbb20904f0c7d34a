// What a plot shows, and the axes that fit it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace det::cli {

struct Point {
  double x = 0;  // finite
  double y = 0;  // not finite: the line has a gap here
};

struct Series {
  std::string name;
  std::vector<Point> points;  // in the order of the line
  size_t not_finite = 0;      // values that were NaN or infinite
};

struct Axis {
  double low = 0;
  double high = 1;
  std::vector<double> ticks;
  std::vector<std::string> labels;  // of the ticks, all with the same precision

  double fraction(double value) const;  // 0 at `low`, 1 at `high`
};

struct Axes {
  Axis x, y;
};

// Just as far as the data reaches, with about so many ticks at round numbers. Empty when there is
// no finite value.
std::optional<Axes> fit_axes(const std::vector<Series> &series, int x_ticks, int y_ticks);

// The same line with few points: of those that share one of `columns` parts of the axis, the first,
// the last, the lowest and the highest, and one of the gaps.
std::vector<Point> thinned(const std::vector<Point> &points, const Axis &x, size_t columns);

// "last 0.12, lowest 0.11 at 90, highest 2.3 at 0, 1 not finite".
std::string summary(const Series &series);

// Six significant digits; NaN, Infinity, -Infinity.
std::string short_number(double value);

}  // namespace det::cli
