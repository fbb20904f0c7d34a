#include "wrappers/cli/plot/curve_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "core/base/text/printable.h"
#include "wrappers/cli/exit_code.h"

namespace det::cli {

namespace {

// In what the profiler measures.
struct ScaledUnit {
  std::string name;  // "MiB"
  double size = 1;   // in the unit itself
};

// The unit of a metric of one of the profiler's groups, by its last name: "%", "bytes", "bytes/s",
// "1/s", "°C", "W", "MHz", "s"; empty for others.
std::string unit_of(const std::string &group, const std::string &name) {
  static const std::set<std::string> groups = {"cpu", "memory",  "disk",     "network",
                                               "gpu", "process", "pressure", "regions"};
  if (!groups.contains(group)) return "";
  const auto has = [&](const char *part) { return name.find(part) != name.npos; };
  if (has("throughput") || name == "io_read" || name == "io_write") return "bytes/s";
  if (has("util") || has("share") || group == "pressure") return "%";
  if (has("iops")) return "1/s";
  if (has("temperature")) return "°C";
  if (has("power")) return "W";
  if (has("clock")) return "MHz";
  if (has("seconds")) return "s";
  if (has("memory") || has("bytes") || has("rss")) return "bytes";
  return "";
}

// For numbers as large as this one.
ScaledUnit scaled_unit(const std::string &unit, double largest) {
  const bool rate = unit == "bytes/s";
  if (unit != "bytes" && !rate) return {unit, 1};
  constexpr std::array names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t i = 0;
  double size = 1;
  for (; largest / size >= 1024 && i + 1 < names.size(); ++i) size *= 1024;
  return {std::string(names[i]) + (rate ? "/s" : ""), size};
}

// As Along has them.
constexpr std::array along_names = {"steps", "epochs", "time", "relative"};

Dimension x_of(const CurveStyle &style, std::vector<Series> &series) {
  Dimension x;
  if (style.along == Along::time) return {"time (UTC)", "", Scale::clock};
  x.name = style.along == Along::steps ? "steps" : style.along == Along::epochs ? "epochs" : "time";
  x.whole = style.along == Along::steps;
  x.scale = style.log_x ? Scale::log : Scale::linear;
  if (style.along != Along::relative) return x;
  double longest = 0;
  for (const Series &line : series)
    for (const Point &point : line.points) longest = std::max(longest, point.x);
  struct Unit {
    const char *name;
    double seconds;
  };
  constexpr std::array units = {Unit{"s", 1}, Unit{"min", 60}, Unit{"h", 3600}, Unit{"d", 86400}};
  const Unit *unit = units.data();
  for (const Unit &each : units)
    if (longest >= 3 * each.seconds) unit = &each;
  x.unit = unit->name;
  for (Series &line : series)
    for (Point &point : line.points) point.x /= unit->seconds;
  return x;
}

// Where all measure the same: its name and unit, with numbers that are easy to read.
Dimension y_of(const std::vector<Curve> &curves, std::vector<Series> &series) {
  Dimension y;
  const auto last_part = [](const Curve &curve) {
    return curve.metric.substr(curve.metric.find_last_of('.') + 1);
  };
  const std::string name = last_part(curves.front()), unit = unit_of(curves.front().group, name);
  const bool one_name = std::all_of(curves.begin(), curves.end(),
                                    [&](const Curve &curve) { return last_part(curve) == name; });
  const bool one_unit = std::all_of(curves.begin(), curves.end(), [&](const Curve &curve) {
    return unit_of(curve.group, last_part(curve)) == unit;
  });
  const bool one_metric = std::all_of(curves.begin(), curves.end(), [&](const Curve &curve) {
    return curve.group == curves.front().group && curve.metric == curves.front().metric;
  });
  if (one_name) y.name = printable(one_metric ? curves.front().group + "." + name : name);
  if (!one_unit) return y;
  double largest = 0;
  for (const Series &line : series)
    for (const Point &point : line.points)
      if (std::isfinite(point.y)) largest = std::max(largest, std::fabs(point.y));
  const ScaledUnit scaled = scaled_unit(unit, largest);
  y.unit = scaled.name;
  for (Series &line : series)
    for (Point &point : line.points) point.y /= scaled.size;
  return y;
}

}  // namespace

const char *along_name(Along along) { return along_names[static_cast<size_t>(along)]; }

std::optional<Along> along_named(const std::string &name) {
  const auto *const found = std::find(along_names.begin(), along_names.end(), name);
  if (found == along_names.end()) return std::nullopt;
  return static_cast<Along>(found - along_names.begin());
}

Along usual_along(const std::vector<Curve> &curves) {
  const bool stands = std::any_of(curves.begin(), curves.end(), [](const Curve &curve) {
    const double first = curve.samples.front().steps;
    return std::isnan(first) ||
           (curve.samples.size() > 1 &&
            std::all_of(curve.samples.begin(), curve.samples.end(),
                        [&](const Sample &sample) { return sample.steps == first; }));
  });
  return stands ? Along::relative : Along::steps;
}

double place_of(const Sample &sample, Along along, const Curve &curve) {
  switch (along) {
    case Along::steps:
      return sample.steps;
    case Along::epochs:
      return sample.epoch;
    case Along::time:
      return sample.time;
    case Along::relative:
      break;
  }
  return sample.time - curve.start;
}

void require_places(const std::vector<Curve> &curves, Along along) {
  for (const Curve &curve : curves) {
    if (std::any_of(curve.samples.begin(), curve.samples.end(), [&](const Sample &sample) {
          return std::isfinite(place_of(sample, along, curve));
        }))
      continue;
    const std::string trial = "trial " + std::to_string(curve.trial) + " has no ";
    if (along == Along::epochs)
      throw Failure(ExitCode::not_found,
                    trial +
                        "epochs: report a metric 'epoch' with the others, or set "
                        "'records_per_epoch' and 'global_batch_size' in the configuration");
    throw Failure(ExitCode::not_found, trial + (along == Along::steps ? "steps" : "times") +
                                           " for '" + curve.metric + "'; choose another --x");
  }
}

Panel panel_of(const std::vector<Curve> &curves, const CurveStyle &style) {
  Panel panel;
  const bool several = std::any_of(curves.begin(), curves.end(), [&](const Curve &curve) {
    return curve.trial != curves.front().trial;
  });
  std::vector<int64_t> trials;
  std::vector<std::string> metrics;
  const auto place_in = [](auto &known, const auto &value) {
    const auto found = std::find(known.begin(), known.end(), value);
    const auto place = static_cast<int>(found - known.begin());
    if (found == known.end()) known.push_back(value);
    return place;
  };
  for (const Curve &curve : curves) {
    Series series;
    if (several) {
      series.colour = place_in(trials, curve.trial);
      series.dashes = place_in(metrics, curve.group + "." + curve.metric);
    }
    series.name = (several ? "trial " + std::to_string(curve.trial) + " " : "") +
                  printable(curve.group + "." + curve.metric);
    for (const Sample &sample : curve.samples) {
      const double x = place_of(sample, style.along, curve);
      if (!std::isfinite(x)) continue;
      series.points.push_back({x, sample.value});
      if (!std::isfinite(sample.value)) ++series.not_finite;
    }
    panel.series.push_back(std::move(series));
  }
  if (panel.series.empty()) return panel;
  panel.x = x_of(style, panel.series);
  panel.y = y_of(curves, panel.series);
  if (style.log_y) panel.y.scale = Scale::log;
  for (Series &series : panel.series) {
    std::vector<Point> points = std::move(series.points);
    series.points = with_gaps(style.smoothing > 0 ? smoothed(points, style.smoothing) : points);
    if (style.smoothing > 0) series.raw = with_gaps(points);
    fit_to_scales(series, panel.x.scale, panel.y.scale);
  }
  return panel;
}

}  // namespace det::cli
