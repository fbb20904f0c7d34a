#include "draw_parts.h"

#include <algorithm>

namespace det::cli {

namespace {

constexpr double longest_label = 90;
const Pen frame_pen{grey, 0.8, 1, {}}, grid_pen{pale, 0.8, 1, {}};

}  // namespace

double draw_title(Canvas &canvas, const std::string &title) {
  if (title.empty()) return margin;
  canvas.text({margin, margin + 8}, title,
              {.size = 14, .bold = true, .room = canvas.width() - 2 * margin});
  return margin + 26;
}

void draw_y_axis(Canvas &canvas, const Box &frame, const Box &box, const Axis &axis) {
  const auto place = [&](double value) { return box.bottom - axis.fraction(value) * box.height(); };
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const double y = place(axis.ticks[i]);
    canvas.line({frame.left, y}, {frame.right, y}, grid_pen);
    canvas.text({frame.left - 7, y}, axis.labels[i], {.across = 1, .room = 0});
  }
  for (const double tick : axis.minor)
    canvas.line({frame.left - 3, place(tick)}, {frame.left, place(tick)}, frame_pen);
  canvas.line({frame.left, frame.top}, {frame.left, frame.bottom}, frame_pen);
}

void draw_x_axis(Canvas &canvas, const Box &frame, const Box &box, const Axis &axis) {
  canvas.line({frame.left, frame.bottom}, {frame.right, frame.bottom}, frame_pen);
  const auto place = [&](double value) { return box.left + axis.fraction(value) * box.width(); };
  double free_from = -1e9;
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const double x = place(axis.ticks[i]);
    canvas.line({x, frame.bottom}, {x, frame.bottom + 4}, frame_pen);
    const double width = std::min(canvas.text_width(axis.labels[i]), longest_label);
    const double begin = std::min(x - width / 2, canvas.width() - margin / 2 - width);
    if (begin < free_from) continue;
    canvas.text({begin, frame.bottom + 14}, axis.labels[i], {.room = width + 1});
    free_from = begin + width + 6;
  }
  for (const double tick : axis.minor)
    canvas.line({place(tick), frame.bottom}, {place(tick), frame.bottom + 2.5}, frame_pen);
}

void draw_colours(Canvas &canvas, const Box &box) {
  constexpr int shades = 64;
  const bool upwards = box.height() > box.width();
  for (int i = 0; i < shades; ++i) {
    // The next one is drawn over its end: no gap shows between them.
    const double from = static_cast<double>(i) / shades, to = std::min(1.0, from + 1.5 / shades);
    Box part = box;
    if (upwards) {
      part.bottom = box.bottom - from * box.height();
      part.top = box.bottom - to * box.height();
    } else {
      part.left = box.left + from * box.width();
      part.right = box.left + to * box.width();
    }
    canvas.fill(part, viridis(static_cast<double>(i) / (shades - 1)));
  }
}

}  // namespace det::cli
