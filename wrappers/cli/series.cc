#include "series.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace det::cli {

namespace {

std::string formatted(const char *format, int precision, double value) {
  char text[400];
  std::snprintf(text, sizeof text, format, precision, value);
  return text;
}

// The next of 1, 2, 5, 10, 20, ... and their fractions.
double round_up(double rough) {
  const double magnitude = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * magnitude >= rough * (1 - 1e-9)) return factor * magnitude;
  }
  return 10 * magnitude;
}

void label_ticks(Axis &axis, double step) {
  const double largest = std::max(std::fabs(axis.low), std::fabs(axis.high));
  const bool plain = largest < 1e7 && step >= 1e-5;
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  const int digits =
      static_cast<int>(std::clamp(std::ceil(std::log10(largest / step)) + 1, 1.0, 17.0));
  for (double &tick : axis.ticks) {
    if (std::fabs(tick) < step / 1000) tick = 0;  // neither -0 nor 1e-17
    axis.labels.push_back(plain ? formatted("%.*f", decimals, tick)
                                : formatted("%.*g", digits, tick));
  }
}

Axis fit_axis(double low, double high, int wanted) {
  constexpr double largest = std::numeric_limits<double>::max();
  Axis axis{low, high, {}, {}};
  if (high / 2 - low / 2 < std::numeric_limits<double>::min()) {
    const double margin = low == 0 ? 1 : std::fabs(low) / 10;
    axis.low = std::max(low - margin, -largest);
    axis.high = std::min(high + margin, largest);
  }
  const double step = round_up(axis.high / wanted - axis.low / wanted);
  const double first = std::floor(axis.low / step + 1e-9),
               last = std::ceil(axis.high / step - 1e-9);
  // A span next to the limits of a double has no round numbers around it.
  if (!std::isfinite(step * first) || !std::isfinite(step * last) || std::fabs(first) > 1e15) {
    axis.ticks = {axis.low, axis.high};
    label_ticks(axis, std::max(std::fabs(axis.high) / 1e3, std::numeric_limits<double>::min()));
    return axis;
  }
  const double slack = step / 1000;
  const auto count = static_cast<int>(last - first);
  for (int i = 0; i <= count; ++i) {
    const double tick = (first + i) * step;
    if (tick >= axis.low - slack && tick <= axis.high + slack) axis.ticks.push_back(tick);
  }
  label_ticks(axis, step);
  return axis;
}

}  // namespace

double Axis::fraction(double value) const {
  return (value / 2 - low / 2) / (high / 2 - low / 2);  // halves: the span may be beyond a double
}

std::optional<Axes> fit_axes(const std::vector<Series> &series, int x_ticks, int y_ticks) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Point low{infinity, infinity}, high{-infinity, -infinity};
  for (const Series &line : series) {
    for (const Point &point : line.points) {
      if (!std::isfinite(point.y)) continue;
      low = {std::min(low.x, point.x), std::min(low.y, point.y)};
      high = {std::max(high.x, point.x), std::max(high.y, point.y)};
    }
  }
  if (low.x == infinity) return std::nullopt;
  return Axes{fit_axis(low.x, high.x, x_ticks), fit_axis(low.y, high.y, y_ticks)};
}

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

std::string summary(const Series &series) {
  const Point *last = nullptr, *lowest = nullptr, *highest = nullptr;
  for (const Point &point : series.points) {
    if (!std::isfinite(point.y)) continue;
    last = &point;
    if (!lowest || point.y < lowest->y) lowest = &point;
    if (!highest || point.y > highest->y) highest = &point;
  }
  std::string others = series.not_finite ? std::to_string(series.not_finite) + " not finite" : "";
  if (!last) return others;
  const auto at = [](const Point &point) {
    return short_number(point.y) + " at " + formatted("%.*f", 0, point.x);
  };
  return "last " + short_number(last->y) + ", lowest " + at(*lowest) + ", highest " + at(*highest) +
         (others.empty() ? "" : ", " + others);
}

std::string short_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return formatted("%.*g", 6, value);
}

}  // namespace det::cli
