// Panels: one over the whole canvas, or several beside and under each other.
#include <algorithm>
#include <cmath>

#include "wrappers/cli/plot/picture/canvas.h"

namespace det::cli {

namespace {

constexpr size_t own_colours = 8;  // with more series, colours go along a scale
constexpr size_t most_named = 16;  // with more, the colours say enough
constexpr int legend_rows = 4;
constexpr double legend_step = 17, legend_gap = 18, sample = 22, scale_length = 120;

struct Look {
  Rgb colour;
  double width;
  std::vector<double> dashes;
};

size_t colour_of(const std::vector<Series> &series, size_t index) {
  return series[index].colour < 0 ? index : static_cast<size_t>(series[index].colour);
}

Look look_of(const std::vector<Series> &series, size_t index) {
  size_t count = 0;
  for (size_t i = 0; i < series.size(); ++i) count = std::max(count, colour_of(series, i) + 1);
  const size_t colour = colour_of(series, index);
  std::vector<double> dashes;
  if (series[index].dashes > 0) dashes = {5 / static_cast<double>(series[index].dashes), 3};
  if (count > own_colours)
    return {viridis(static_cast<double>(colour) / static_cast<double>(count - 1)), 1.1, dashes};
  if (colour >= line_colours.size() && dashes.empty()) dashes = {5, 3};
  return {line_colours[colour % line_colours.size()], 1.7, dashes};
}

// Of several series, without what all end in: the metric, where that is one.
std::vector<std::string> names_of(const std::vector<Series> &series) {
  std::vector<std::string> names;
  const std::string &first = series.front().name;
  const std::string end = first.substr(std::min(first.rfind(' '), first.size()));
  const bool all = std::all_of(series.begin(), series.end(), [&](const Series &each) {
    return each.name.size() > end.size() && each.name.ends_with(end);
  });
  for (const Series &each : series)
    names.push_back(each.name.substr(0, each.name.size() - (all ? end.size() : 0)));
  return names;
}

// The first and the last of many, with the colours between them.
double draw_scale(Canvas &canvas, const std::vector<std::string> &names, double top) {
  const double y = top + legend_step / 2;
  const double room = (canvas.width() - 2 * margin - scale_length) / 2 - 60;
  const auto text = [&](double x, const std::string &name, Rgb colour) {
    const double width = std::min(canvas.text_width(name, {.size = 10.5}), room);
    canvas.text({x, y}, name, {.size = 10.5, .colour = colour, .room = width + 1});
    return x + width + 8;
  };
  const double left = text(margin, names.front(), ink);
  draw_colours(canvas, {left, y - 3, left + scale_length, y + 3});
  const double right = text(left + scale_length + 8, names.back(), ink);
  text(right + 10, std::to_string(names.size()) + " lines", grey);
  return top + legend_step;
}

// Under the title, in rows; answers where they end.
double draw_legend(Canvas &canvas, const std::vector<Series> &series, double top) {
  if (series.size() < 2) return top;
  const std::vector<std::string> names = names_of(series);
  if (series.size() > most_named) return draw_scale(canvas, names, top);
  const double right = canvas.width() - margin;
  double x = margin, y = top + legend_step / 2;
  int row = 1;
  for (size_t i = 0; i < series.size(); ++i) {
    const TextStyle style{.size = 10.5, .room = 0};
    const double width = std::min(canvas.text_width(names[i], style), right - margin - sample);
    const std::string more = "and " + std::to_string(series.size() - i) + " more";
    const double wanted = sample + 6 + width;
    const bool last_row = row == legend_rows;
    const double kept =
        last_row && i + 1 < series.size() ? canvas.text_width(more, style) + legend_gap : 0;
    if (x > margin && x + wanted + kept > right) {
      if (last_row) {
        canvas.text({x, y}, more, {.size = 10.5, .colour = grey});
        break;
      }
      ++row;
      x = margin;
      y += legend_step;
    }
    const Look look = look_of(series, i);
    canvas.line({x, y}, {x + sample, y}, {look.colour, 2.2, 1, look.dashes});
    canvas.text({x + sample + 6, y}, names[i], {.size = 10.5, .room = width + 1});
    x += wanted + legend_gap;
  }
  return y + legend_step / 2;
}

void draw_line(Canvas &canvas, const Box &box, const Axes &axes, const std::vector<Point> &points,
               const Pen &pen) {
  std::vector<Point> places;
  for (const Point &point : thinned(points, axes.x, static_cast<size_t>(box.width() * 2)))
    places.push_back(
        {box.left + axes.x.fraction(point.x) * box.width(),
         std::isfinite(point.y) ? box.bottom - axes.y.fraction(point.y) * box.height() : point.y});
  canvas.path(places, pen);
  // A value between two gaps is no line, and would hardly be seen.
  for (size_t i = 0; i < places.size(); ++i)
    if (std::isfinite(places[i].y) && (i == 0 || !std::isfinite(places[i - 1].y)) &&
        (i + 1 == places.size() || !std::isfinite(places[i + 1].y)))
      canvas.dot(places[i], 1.5 * pen.width, pen.colour, pen.opacity);
}

void draw_series(Canvas &canvas, const Box &box, const Axes &axes, const Panel &panel) {
  const size_t count = panel.series.size();
  if (panel.dots) {
    for (const Series &series : panel.series)
      for (const Point &point : series.points)
        if (std::isfinite(point.y))
          canvas.dot({box.left + axes.x.fraction(point.x) * box.width(),
                      box.bottom - axes.y.fraction(point.y) * box.height()},
                     2.6, line_colours[0], 0.55);
    return;
  }
  for (size_t i = 0; i < count; ++i)
    draw_line(canvas, box, axes, panel.series[i].raw,
              {look_of(panel.series, i).colour, 1, 0.22, {}});
  // The first is drawn last: it is over the others.
  for (size_t i = count; i-- > 0;) {
    const Look look = look_of(panel.series, i);
    draw_line(canvas, box, axes, panel.series[i].points, {look.colour, look.width, 1, look.dashes});
  }
}

void draw_panel(Canvas &canvas, const Box &outer, const Panel &panel, bool with_y_label) {
  const Axes axes = fit_axes(panel, std::max(6, static_cast<int>(outer.width() / 95)),
                             std::max(5, static_cast<int>(outer.height() / 55)));
  double labels = 0;
  for (const std::string &label : axes.y.labels)
    labels = std::max(labels, std::min(canvas.text_width(label), 90.0));
  Box frame = outer;
  frame.left += labels + 10 + (with_y_label ? 22 : 0);
  frame.bottom -= 40;
  // Room for half a label on the right, and between the lines and the frame.
  frame.right -= 14;
  const double inset = 6;
  const Box box{frame.left + inset, frame.top + inset, frame.right - inset, frame.bottom - inset};
  draw_y_axis(canvas, frame, box, axes.y);
  draw_x_axis(canvas, frame, box, axes.x);
  canvas.text({(frame.left + frame.right) / 2, outer.bottom - 7}, panel.x.label(),
              {.size = 11.5, .across = 0.5, .room = frame.width()});
  if (with_y_label)
    canvas.text({outer.left + 8, (frame.top + frame.bottom) / 2}, panel.y.label(),
                {.size = 11.5, .across = 0.5, .upwards = true, .room = frame.height()});
  canvas.within(frame, [&] { draw_series(canvas, box, axes, panel); });
}

}  // namespace

void draw(Canvas &canvas, const Panels &panels) {
  double top = draw_title(canvas, panels.title);
  const size_t count = panels.panels.size();
  if (count == 1) top = draw_legend(canvas, panels.panels[0].series, top) + 6;
  const size_t columns =
      count <= 3 ? std::max<size_t>(count, 1)
                 : static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const size_t rows = (count + columns - 1) / columns;
  const double width = (canvas.width() - 2 * margin) / static_cast<double>(columns),
               height = (canvas.height() - top - margin) / static_cast<double>(rows);
  for (size_t i = 0; i < count; ++i) {
    const double left = margin + width * static_cast<double>(i % columns),
                 above = top + height * static_cast<double>(i / columns);
    draw_panel(canvas, {left, above + 8, left + width, above + height}, panels.panels[i],
               i % columns == 0);
  }
}

}  // namespace det::cli
