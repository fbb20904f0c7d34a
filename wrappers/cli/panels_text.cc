// Lines and dots over two axes, drawn in characters.
#include <algorithm>
#include <array>
#include <cmath>

#include "dots.h"
#include "plot_text.h"

namespace det::cli {

namespace {

constexpr int slice_rows = 8;  // where there are several panels
constexpr std::array colours = {Colour::cyan,  Colour::yellow, Colour::magenta,
                                Colour::green, Colour::blue,   Colour::red};
constexpr std::array<const char *, 8> marks = {"●", "▲", "■", "◆", "○", "△", "□", "◇"};
constexpr std::array<const char *, 8> ascii_marks = {"*", "+", "o", "x", "#", "@", "%", "&"};
constexpr size_t most_names = 24;  // of series that are told about

Dots draw(const Panel &panel, const Axes &axes, int columns, int height, bool braille) {
  Dots dots(columns, height, braille);
  for (size_t i = 0; i < panel.series.size(); ++i) {
    const Point *before = nullptr;
    for (const Point &point : panel.series[i].points) {
      const Point *here = std::isfinite(point.y) ? &point : nullptr;
      if (here) {
        const auto dot = [&](const Point &p) {
          return dots.dot(axes.x.fraction(p.x), axes.y.fraction(p.y));
        };
        dots.line(dot(before && !panel.dots ? *before : *here), dot(*here), static_cast<int>(i));
      }
      before = here;
    }
  }
  return dots;
}

Colour colour_of(const Panel &panel, size_t series) {
  const int colour = panel.series[series].colour;
  return colours[(colour < 0 ? series : static_cast<size_t>(colour)) % colours.size()];
}

std::string cell_text(const Dots &dots, int column, int row, const Panel &panel,
                      const Terminal &terminal) {
  const Dots::Cell &cell = dots.cell(column, row);
  if (cell.colour < 0) return " ";
  const auto series = static_cast<size_t>(cell.colour);
  // Marks stand at every eighth column, each series at columns of its own.
  const bool marked = panel.series.size() > 1 && static_cast<size_t>(column) % 8 == series * 3 % 8;
  const std::string text = !terminal.utf8 ? ascii_marks[series % ascii_marks.size()]
                           : marked       ? marks[series % marks.size()]
                                          : dots.braille(column, row);
  return painted(terminal, colour_of(panel, series), text);
}

// The line under the plot with its ticks, and the numbers under those.
std::string x_axis(const Axis &axis, const std::string &title, int columns, size_t margin,
                   const Terminal &terminal) {
  std::vector<bool> ticks(static_cast<size_t>(columns));
  std::string labels;
  size_t used = 0;
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const auto column =
        static_cast<size_t>(std::lround(axis.fraction(axis.ticks[i]) * (columns - 1)));
    ticks[column] = true;
    const std::string label = shortened(axis.labels[i], 24, terminal);
    const size_t middle = margin + 2 + column, half = display_width(label) / 2;
    const size_t begin = middle > half ? middle - half : 0;
    if (begin < used + (used > 0)) continue;
    labels += std::string(begin - used, ' ') + label;
    used = begin + display_width(label);
  }
  std::string line(margin + 1, ' ');
  line += terminal.utf8 ? "└" : "+";
  for (const bool tick : ticks) {
    line += terminal.utf8 ? (tick ? "┬" : "─") : (tick ? "+" : "-");
  }
  const size_t middle = margin + 2 + static_cast<size_t>(columns) / 2,
               half = display_width(title) / 2;
  return line + "\n" + labels + "\n" + std::string(middle > half ? middle - half : 0, ' ') + title +
         "\n";
}

std::string legend(const Panel &panel, const Terminal &terminal) {
  std::string out;
  const size_t count = std::min(panel.series.size(), most_names);
  for (size_t i = 0; i < count; ++i) {
    const char *mark =
        terminal.utf8 ? marks[i % marks.size()] : ascii_marks[i % ascii_marks.size()];
    out += "  " + painted(terminal, colour_of(panel, i), mark) + " " + panel.series[i].name + ": " +
           summary(panel.series[i], panel.x) + "\n";
  }
  if (panel.series.size() > count)
    out += "  and " + std::to_string(panel.series.size() - count) + " more\n";
  return out;
}

std::string render_panel(const Panel &panel, int height, const Terminal &terminal) {
  const int width = plot_width(terminal);
  const Axes axes = fit_axes(panel, width / 12, std::max(height / 3, 4));
  size_t margin = 0;
  std::vector<std::string> row_labels(static_cast<size_t>(height));
  for (size_t i = 0; i < axes.y.ticks.size(); ++i) {
    const double row = (1 - axes.y.fraction(axes.y.ticks[i])) * (height - 1);
    const std::string label = shortened(axes.y.labels[i], 16, terminal);
    row_labels[static_cast<size_t>(std::lround(row))] = label;
    margin = std::max(margin, display_width(label));
  }
  const int columns = std::max(10, width - static_cast<int>(margin) - 4);
  const Dots dots = draw(panel, axes, columns, height, terminal.utf8);

  std::string out = panel.y.unit.empty() && !panel.dots ? "" : panel.y.label() + "\n";
  for (int row = 0; row < height; ++row) {
    const std::string &label = row_labels[static_cast<size_t>(row)];
    std::string line = std::string(margin - display_width(label), ' ') + label;
    line += terminal.utf8 ? (label.empty() ? " │" : " ┤") : (label.empty() ? " |" : " +");
    for (int column = 0; column < columns; ++column)
      line += cell_text(dots, column, row, panel, terminal);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out + x_axis(axes.x, panel.x.label(), columns, margin, terminal) +
         (panel.dots ? "" : legend(panel, terminal));
}

}  // namespace

std::string render(const Panels &panels, const Terminal &terminal) {
  std::string out;
  for (const Panel &panel : panels.panels) {
    if (!panel.has_values()) continue;
    out += (out.empty() ? "" : "\n") +
           render_panel(panel, panels.panels.size() > 1 ? slice_rows : plot_rows, terminal);
  }
  return out;
}

}  // namespace det::cli
