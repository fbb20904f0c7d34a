// A line for each trial through an axis for each hyperparameter.
#include <algorithm>
#include <cmath>

#include "draw_parts.h"

namespace det::cli {

namespace {

constexpr double bar_width = 12, bar_room = 20;

// The best is dark, and drawn last.
double shade_of(size_t trial, size_t count) {
  return count > 1 ? 1 - static_cast<double>(trial) / static_cast<double>(count - 1) : 0;
}

void draw_dimension(Canvas &canvas, const Box &box, double x, const Dimension &dimension,
                    const Axis &axis, double room) {
  canvas.line({x, box.top}, {x, box.bottom}, {ink, 1, 1, {}});
  canvas.text({x, box.top - 18}, dimension.label(),
              {.size = 11.5,
               .across = 0.5,
               .bold = true,
               .room = std::min(
                   room, canvas.text_width(dimension.label(), {.size = 11.5, .bold = true}) + 1)});
  double above = 1e9;
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const double y = box.bottom - axis.fraction(axis.ticks[i]) * box.height();
    canvas.line({x - 4, y}, {x, y}, {ink, 1, 1, {}});
    if (above - y < 12 && above - y > -12) continue;
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
    const bool best = (trial + 1) * 10 > trials * 9;
    canvas.path(places,
                {viridis(shade_of(trial, trials)), best ? 1.8 : 1.1, best ? 0.95 : opacity, {}});
  }
  for (size_t i = 0; i < count; ++i)
    draw_dimension(canvas, box, x_of(i), parallel.dimensions[i], axes[i],
                   step > 0 ? step : box.width());

  const double left = box.right + bar_room;
  constexpr int shades = 64;
  for (int i = 0; i < shades; ++i)
    canvas.fill({left, box.top + box.height() * i / shades, left + bar_width,
                 box.top + box.height() * (i + 1) / shades + 0.5},
                viridis(1 - static_cast<double>(i) / (shades - 1)));
  canvas.text({left + bar_width / 2, box.top - 8}, "worst",
              {.size = 9, .across = 0.5, .colour = grey});
  canvas.text({left + bar_width / 2, box.bottom + 9}, "best",
              {.size = 9, .across = 0.5, .colour = grey});
}

}  // namespace det::cli
