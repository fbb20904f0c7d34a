#include "wrappers/cli/plot/series.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace det::cli {

std::vector<Point> thinned(const std::vector<Point> &points, const Axis &x, size_t columns) {
  const auto column_of = [&](const Point &point) {
    return static_cast<size_t>(x.fraction(point.x) * static_cast<double>(columns));
  };
  std::vector<Point> out;
  for (size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    const bool gap = !std::isfinite(points[begin].y);
    size_t lowest = begin, highest = begin;
    for (; end < points.size() && !std::isfinite(points[end].y) == gap &&
           (gap || column_of(points[end]) == column_of(points[begin]));
         ++end) {
      if (points[end].y < points[lowest].y) lowest = end;
      if (points[end].y > points[highest].y) highest = end;
    }
    size_t keep[] = {begin, std::min(lowest, highest), std::max(lowest, highest), end - 1};
    size_t *last = gap ? keep + 1 : std::unique(keep, keep + 4);
    for (size_t *i = keep; i != last; ++i) out.push_back(points[*i]);
  }
  return out;
}

std::vector<Point> smoothed(const std::vector<Point> &points, double weight) {
  std::vector<Point> out = points;
  double sum = 0, missing = 1;  // of the weights, which begin to add up to 1
  for (Point &point : out) {
    if (!std::isfinite(point.y)) continue;
    sum = sum * weight + point.y * (1 - weight);
    missing *= weight;
    point.y = sum / (1 - missing);
  }
  return out;
}

std::vector<Point> with_gaps(const std::vector<Point> &points) {
  std::vector<Point> out;
  for (const Point &point : points) {
    if (!out.empty() && out.back().x > point.x)
      out.push_back({point.x, std::numeric_limits<double>::quiet_NaN()});
    out.push_back(point);
  }
  return out;
}

void fit_to_scales(Series &series, Scale x, Scale y) {
  const auto misses = [](Scale scale, double value) { return scale == Scale::log && value <= 0; };
  for (std::vector<Point> *points : {&series.points, &series.raw}) {
    for (Point &point : *points) {
      if (!std::isfinite(point.y) || !(misses(x, point.x) || misses(y, point.y))) continue;
      point.y = std::numeric_limits<double>::quiet_NaN();
      if (points == &series.points) ++series.not_positive;
    }
    std::erase_if(*points, [&](const Point &point) { return misses(x, point.x); });
  }
}

std::string summary(const Series &series, const Dimension &x) {
  const Point *last = nullptr, *lowest = nullptr, *highest = nullptr;
  for (const Point &point : series.points) {
    if (!std::isfinite(point.y)) continue;
    last = &point;
    if (!lowest || point.y < lowest->y) lowest = &point;
    if (!highest || point.y > highest->y) highest = &point;
  }
  std::string text;
  const auto add = [&](const std::string &part) { text += (text.empty() ? "" : ", ") + part; };
  const auto at = [&](const Point &point) {
    return short_number(point.y) + " at " + x.text_of(point.x);
  };
  if (last) {
    add("last " + short_number(last->y));
    add("lowest " + at(*lowest));
    add("highest " + at(*highest));
  }
  if (series.not_finite) add(std::to_string(series.not_finite) + " not finite");
  if (series.not_positive) add(std::to_string(series.not_positive) + " not above 0");
  return text;
}

}  // namespace det::cli
