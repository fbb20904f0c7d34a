#include "wrappers/cli/plot/figure.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace det::cli {

namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

}  // namespace

bool Panel::has_values() const {
  return std::any_of(series.begin(), series.end(), [](const Series &line) {
    return std::any_of(line.points.begin(), line.points.end(),
                       [](const Point &point) { return std::isfinite(point.y); });
  });
}

Axes fit_axes(const Panel &panel, int x_ticks, int y_ticks) {
  Range xs, ys;
  for (const Series &line : panel.series) {
    for (const std::vector<Point> *points : {&line.points, &line.raw}) {
      for (const Point &point : *points) {
        if (!std::isfinite(point.y)) continue;
        xs.include(point.x);
        ys.include(point.y);
      }
    }
  }
  return {fit_axis(panel.x, xs.low, xs.high, x_ticks), fit_axis(panel.y, ys.low, ys.high, y_ticks)};
}

std::vector<Axis> fit_axes(const Parallel &parallel, int ticks) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < parallel.dimensions.size(); ++i) {
    Range range;
    for (const std::vector<double> &trial : parallel.trials)
      if (std::isfinite(trial[i])) range.include(trial[i]);
    axes.push_back(fit_axis(parallel.dimensions[i], range.low, range.high, ticks));
  }
  return axes;
}

}  // namespace det::cli
