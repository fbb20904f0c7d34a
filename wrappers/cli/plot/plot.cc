#include "wrappers/cli/plot/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "wrappers/cli/plot/figure.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

namespace {

// Each cell has 2 × 4 dots in braille, or one in ASCII.
class Dots {
 public:
  Dots(int columns, int rows, bool braille);

  struct Dot {
    int x, y;
  };
  Dot dot(double x_fraction, double y_fraction) const;  // of the place, from the left and below
  void line(Dot from, Dot to, int colour);

  struct Cell {
    unsigned dots = 0;
    int colour = -1;  // of what was drawn last; -1: nothing
  };
  const Cell &cell(int column, int row) const;
  // The dots in it as one braille character.
  std::string braille(int column, int row) const;

 private:
  void set(Dot at, int colour);

  int columns_, rows_, across_, down_;
  std::vector<Cell> cells_;
};

Dots::Dots(int columns, int rows, bool braille)
    : columns_(columns),
      rows_(rows),
      across_(braille ? 2 : 1),
      down_(braille ? 4 : 1),
      cells_(static_cast<size_t>(columns) * static_cast<size_t>(rows)) {}

Dots::Dot Dots::dot(double x_fraction, double y_fraction) const {
  const double right = columns_ * across_ - 1, bottom = rows_ * down_ - 1;
  return {static_cast<int>(std::lround(std::clamp(x_fraction, 0.0, 1.0) * right)),
          static_cast<int>(std::lround((1 - std::clamp(y_fraction, 0.0, 1.0)) * bottom))};
}

void Dots::line(Dot from, Dot to, int colour) {
  const int steps = std::max({std::abs(to.x - from.x), std::abs(to.y - from.y), 1});
  for (int i = 0; i <= steps; ++i) {
    const double part = static_cast<double>(i) / steps;
    set({static_cast<int>(std::lround(from.x + part * (to.x - from.x))),
         static_cast<int>(std::lround(from.y + part * (to.y - from.y)))},
        colour);
  }
}

const Dots::Cell &Dots::cell(int column, int row) const {
  return cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_) +
                static_cast<size_t>(column)];
}

std::string Dots::braille(int column, int row) const {
  const uint32_t character = 0x2800 + cell(column, row).dots;
  return {static_cast<char>(0xE0 | character >> 12),
          static_cast<char>(0x80 | (character >> 6 & 0x3F)),
          static_cast<char>(0x80 | (character & 0x3F))};
}

void Dots::set(Dot at, int colour) {
  static constexpr unsigned bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  Cell &cell = cells_[static_cast<size_t>(at.y / down_) * static_cast<size_t>(columns_) +
                      static_cast<size_t>(at.x / across_)];
  cell.dots |= bits[at.y % down_][at.x % across_];
  cell.colour = colour;
}

constexpr int plot_rows = 16;

// In columns.
int plot_width(const Terminal &terminal) { return std::clamp(terminal.width, 20, 200); }

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

std::string render(const Panels &panels, const Terminal &terminal) {
  std::string out;
  for (const Panel &panel : panels.panels) {
    if (!panel.has_values()) continue;
    out += (out.empty() ? "" : "\n") +
           render_panel(panel, panels.panels.size() > 1 ? slice_rows : plot_rows, terminal);
  }
  return out;
}

// The names under the axes, as far as there is room.
std::string axis_line(const std::vector<std::string> &texts, int columns,
                      const Terminal &terminal) {
  std::string out;
  size_t used = 0;
  const auto last = static_cast<int>(texts.size()) - 1;
  for (int i = 0; i <= last; ++i) {
    const auto room = static_cast<size_t>(std::max(4, columns / (last + 1) - 1));
    const std::string text = shortened(texts[static_cast<size_t>(i)], room, terminal);
    const size_t width = display_width(text);
    const auto place = static_cast<size_t>(last > 0 ? i * (columns - 1) / last : 0);
    const size_t wanted = i == 0      ? 0
                          : i == last ? place + 1 - std::min(place + 1, width)
                                      : place - std::min(place, width / 2);
    const size_t begin = std::max(wanted, used + (i > 0));
    out += std::string(begin - used, ' ') + text;
    used = begin + width;
  }
  return out + "\n";
}

std::string render(const Parallel &parallel, const Terminal &terminal) {
  if (parallel.trials.empty()) return "";
  const int columns = plot_width(terminal);
  const std::vector<Axis> axes = fit_axes(parallel, 4);
  const size_t count = axes.size();
  Dots dots(columns, plot_rows, terminal.utf8);
  for (size_t trial = 0; trial < parallel.trials.size(); ++trial) {
    const std::vector<double> &values = parallel.trials[trial];
    const int best = (trial + 1) * 4 > parallel.trials.size() * 3 ? 1 : 0;  // of the best quarter
    for (size_t i = 0; i < count; ++i) {
      const size_t next = std::min(i + 1, count - 1);
      if (!std::isfinite(values[i]) || !std::isfinite(values[next])) continue;
      const auto dot = [&](size_t axis) {
        const double across =
            count > 1 ? static_cast<double>(axis) / static_cast<double>(count - 1) : 0;
        return dots.dot(across, axes[axis].fraction(values[axis]));
      };
      dots.line(dot(i), dot(next), best);
    }
  }
  std::vector<std::string> names, lows, highs;
  for (size_t i = 0; i < count; ++i) {
    const Dimension &dimension = parallel.dimensions[i];
    names.push_back(dimension.label() + (axes[i].log ? " (log)" : ""));
    lows.push_back(dimension.text_of(axes[i].low));
    highs.push_back(dimension.text_of(axes[i].high));
  }
  std::string out = axis_line(names, columns, terminal) + axis_line(highs, columns, terminal);
  for (int row = 0; row < plot_rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const Dots::Cell &cell = dots.cell(column, row);
      const std::string text = cell.colour < 0    ? " "
                               : terminal.utf8    ? dots.braille(column, row)
                               : cell.colour == 1 ? "*"
                                                  : ".";
      out += cell.colour == 1 ? painted(terminal, Colour::cyan, text) : text;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  return out + axis_line(lows, columns, terminal) +
         painted(terminal, Colour::cyan, "The best quarter") + " of " +
         std::to_string(parallel.trials.size()) + " trials is drawn over the others" +
         (terminal.utf8 ? "" : ", in *") + ".\n";
}

std::string render(const Bars &bars, const Terminal &terminal) {
  if (bars.bars.empty()) return "";
  size_t margin = 0;
  double highest = 0;
  for (const Bar &bar : bars.bars) {
    margin = std::max(margin, display_width(shortened(bar.name, 30, terminal)));
    highest = std::max(highest, bar.value);
  }
  const double room = std::max(10, plot_width(terminal) - static_cast<int>(margin) - 18);
  std::string out = bars.label + "\n";
  for (const Bar &bar : bars.bars) {
    const std::string name = shortened(bar.name, 30, terminal);
    const auto length =
        static_cast<size_t>(std::lround(highest > 0 ? room * bar.value / highest : 0));
    std::string line;
    for (size_t i = 0; i < length; ++i) line += terminal.utf8 ? "█" : "#";
    char number[64];
    std::snprintf(number, sizeof number, "%.2f %s %.2f", bar.value, terminal.utf8 ? "±" : "+-",
                  bar.error);
    out += std::string(margin - display_width(name), ' ') + name + "  " +
           painted(terminal, Colour::cyan, line) + (length ? " " : "") + number + "\n";
  }
  for (const std::string &note : bars.notes) out += note + "\n";
  return out;
}

}  // namespace

std::string render_plot(const Figure &figure, const Terminal &terminal) {
  return std::visit([&](const auto &kind) { return render(kind, terminal); }, figure);
}

}  // namespace det::cli
