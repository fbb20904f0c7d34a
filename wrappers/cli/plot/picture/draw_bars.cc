// A bar for each name, the longest above.
#include <algorithm>
#include <cstdio>

#include "wrappers/cli/plot/picture/canvas.h"

namespace det::cli {

void draw(Canvas &canvas, const Bars &bars) {
  const double top = draw_title(canvas, bars.title);
  const double notes = 15 * static_cast<double>(bars.notes.size());
  double names = 0, highest = 0;
  for (const Bar &bar : bars.bars) {
    names = std::max(names, std::min(canvas.text_width(bar.name, {.size = 11.5}), 200.0));
    highest = std::max(highest, bar.value + bar.error);
  }
  const Box frame{margin + names + 10, top + 4, canvas.width() - margin - 50,
                  canvas.height() - margin - 42 - notes};
  const Axis axis = fit_axis({bars.label}, 0, highest > 0 ? highest : 1, 6);
  const auto place = [&](double value) {
    return frame.left + axis.fraction(value) * frame.width();
  };
  for (const double tick : axis.ticks)
    canvas.line({place(tick), frame.top}, {place(tick), frame.bottom}, {pale, 0.8, 1, {}});
  draw_x_axis(canvas, frame, frame, axis);
  const double step = frame.height() / static_cast<double>(std::max<size_t>(bars.bars.size(), 1));
  const double thickness = std::min(step * 0.62, 34.0);
  for (size_t i = 0; i < bars.bars.size(); ++i) {
    const Bar &bar = bars.bars[i];
    const double y = frame.top + step * (static_cast<double>(i) + 0.5);
    canvas.fill({frame.left, y - thickness / 2, place(bar.value), y + thickness / 2},
                line_colours[0]);
    const double low = place(std::max(bar.value - bar.error, 0.0)),
                 high = place(bar.value + bar.error);
    canvas.line({low, y}, {high, y}, {ink, 1.2, 1, {}});
    for (const double end : {low, high}) canvas.line({end, y - 4}, {end, y + 4}, {ink, 1.2, 1, {}});
    char number[32];
    std::snprintf(number, sizeof number, "%.2f", bar.value);
    canvas.text({high + 8, y}, number, {.colour = grey});
    canvas.text({frame.left - 8, y}, bar.name, {.size = 11.5, .across = 1, .room = names + 1});
  }
  canvas.line({frame.left, frame.top}, {frame.left, frame.bottom}, {grey, 0.8, 1, {}});
  canvas.text({(frame.left + frame.right) / 2, frame.bottom + 33}, bars.label,
              {.size = 11.5, .across = 0.5});
  double y = canvas.height() - margin - notes + 8;
  for (const std::string &note : bars.notes) {
    canvas.text({margin, y}, note,
                {.size = 10, .colour = grey, .room = canvas.width() - 2 * margin});
    y += 15;
  }
}

}  // namespace det::cli
