#include "curve_values.h"

#include <cmath>
#include <string>

#include "command.h"
#include "field_text.h"

namespace det::cli {

namespace {

constexpr double largest_exact = 9007199254740992.0;  // behind it a double misses whole numbers

// As JSON has it: a text where it has no number for it.
Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(short_number(value));
}

std::vector<Point> points_of(const Curve &curve, Along along) {
  std::vector<Point> points;
  for (const Sample &sample : curve.samples)
    points.push_back({place_of(sample, along, curve), sample.value});
  return points;
}

void print_json(const Curve &curve, const CurveStyle &style) {
  const std::vector<Point> points = points_of(curve, style.along);
  const auto pairs = [&](const std::vector<Point> &each) {
    Json list = Json::array();
    for (const Point &point : each)
      list.push_back({style.along == Along::steps && std::fabs(point.x) < largest_exact
                          ? Json(static_cast<int64_t>(point.x))
                          : json_number(point.x),
                      json_number(point.y)});
    return list;
  };
  Json line = {{"trial_id", curve.trial},
               {"group", curve.group},
               {"metric", curve.metric},
               {"x", along_name(style.along)},
               {"points", pairs(points)}};
  if (style.smoothing > 0) line["smoothed"] = pairs(smoothed(points, style.smoothing));
  print(json_line(line));
}

}  // namespace

void print_curves_json(const std::vector<Curve> &curves, const CurveStyle &style) {
  for (const Curve &curve : curves) print_json(curve, style);
}

void print_curves_csv(const std::vector<Curve> &curves, const CurveStyle &style,
                      const Terminal &terminal) {
  std::vector<std::string> titles = {"trial_id", "group", "metric", along_name(style.along),
                                     "value"};
  if (style.smoothing > 0) titles.push_back("smoothed");
  print(csv_line(titles, terminal));
  for (const Curve &curve : curves) {
    const std::vector<Point> points = points_of(curve, style.along),
                             smooth = smoothed(points, style.smoothing);
    for (size_t i = 0; i < points.size(); ++i) {
      std::vector<std::string> cells = {std::to_string(curve.trial), curve.group, curve.metric};
      for (const double value : {points[i].x, points[i].y, smooth[i].y})
        cells.push_back(text_of(json_number(value)));
      if (style.smoothing == 0) cells.pop_back();
      print(csv_line(cells, terminal));
    }
  }
}

}  // namespace det::cli
