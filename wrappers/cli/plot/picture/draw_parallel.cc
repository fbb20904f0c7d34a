// A line for each trial through an axis for each hyperparameter.
#include <algorithm>
#include <cmath>

#include "wrappers/cli/plot/picture/canvas.h"

namespace det::cli {

namespace {

constexpr double bar_width = 12, bar_room = 20;
constexpr double least_label_room = 40;  // between two axes
constexpr size_t most_best = 20;         // that are drawn heavily

// The best is dark, and drawn last.
double shade_of(size_t trial, size_t count) {
  return count > 1 ? 1 - static_cast<double>(trial) / static_cast<double>(count - 1) : 0;
}

void draw_dimension(Canvas &canvas, const Box &box, double x, const Dimension &dimension,
                    const Axis &axis, double room) {
  canvas.line({x, box.top}, {x, box.bottom}, {ink, 1, 1, {}});
  TextStyle style{.size = 11.5, .bold = true, .keep_end = true};  // "optim...rate"
  std::string name = dimension.label() + (axis.log ? " (log)" : "");
  if (canvas.text_width(name, style) > room - 14) name = dimension.label();
  const double name_width = std::min(canvas.text_width(name, style) + 1, room - 14);
  style.room = name_width;
  // In the middle over the axis, as far as the picture reaches.
  const double name_left =
      std::clamp(x - name_width / 2, margin, canvas.width() - margin - name_width);
  canvas.text({name_left, box.top - 22}, name, style);
  double above = 1e9;
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const double y = box.bottom - axis.fraction(axis.ticks[i]) * box.height();
    canvas.line({x - 4, y}, {x, y}, {ink, 1, 1, {}});
    if (std::fabs(above - y) < 12 || room < least_label_room) continue;
    above = y;
    const double width = std::min(canvas.text_width(axis.labels[i], {.size = 10}), room - 12);
    canvas.fill({x - 8 - width, y - 6, x - 5, y + 6}, rgb(0xffffff));
    canvas.text({x - 7, y}, axis.labels[i], {.size = 10, .across = 1, .room = width + 1});
  }
}

}  // namespace

void draw(Canvas &canvas, const Parallel &parallel) {
  const double top = draw_title(canvas, parallel.title);
  const std::vector<Axis> axes = fit_axes(parallel, 6);
  const size_t count = axes.size(), trials = parallel.trials.size();
  const Box box{margin + 60, top + 34, canvas.width() - margin - bar_room - bar_width - 6,
                canvas.height() - margin - 14};
  const double step = count > 1 ? box.width() / static_cast<double>(count - 1) : 0;
  const auto x_of = [&](size_t axis) { return box.left + step * static_cast<double>(axis); };

  const double opacity =
      std::clamp(25.0 / static_cast<double>(std::max<size_t>(trials, 1)), 0.25, 0.9);
  for (size_t trial = 0; trial < trials; ++trial) {
    std::vector<Point> places;
    for (size_t i = 0; i < count; ++i) {
      const double value = parallel.trials[trial][i];
      places.push_back({x_of(i), std::isfinite(value)
                                     ? box.bottom - axes[i].fraction(value) * box.height()
                                     : value});
    }
    const bool best = (trials - trial) <= std::clamp<size_t>(trials / 10, 1, most_best);
    canvas.path(places,
                {viridis(shade_of(trial, trials)), best ? 1.8 : 1.1, best ? 0.95 : opacity, {}});
  }
  for (size_t i = 0; i < count; ++i)
    draw_dimension(canvas, box, x_of(i), parallel.dimensions[i], axes[i],
                   step > 0 ? step : box.width());

  const double left = box.right + bar_room;
  draw_colours(canvas, {left, box.top, left + bar_width, box.bottom});
  canvas.text({left + bar_width / 2, box.top - 8}, "worst",
              {.size = 9, .across = 0.5, .colour = grey});
  canvas.text({left + bar_width / 2, box.bottom + 9}, "best",
              {.size = 9, .across = 0.5, .colour = grey});
}

}  // namespace det::cli
