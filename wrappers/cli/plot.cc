#include "plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace det::cli {

namespace {

constexpr int rows = 16;
constexpr std::array colours = {Colour::cyan,  Colour::yellow, Colour::magenta,
                                Colour::green, Colour::blue,   Colour::red};
constexpr std::array<const char *, 8> marks = {"●", "▲", "■", "◆", "○", "△", "□", "◇"};
constexpr std::array<const char *, 8> ascii_marks = {"*", "+", "o", "x", "#", "@", "%", "&"};

std::string utf8(uint32_t character) {  // of U+0800 to U+FFFF
  return {static_cast<char>(0xE0 | character >> 12),
          static_cast<char>(0x80 | (character >> 6 & 0x3F)),
          static_cast<char>(0x80 | (character & 0x3F))};
}

// Cells of the terminal, each with 2 × 4 dots in braille, or with one in ASCII.
class Canvas {
 public:
  Canvas(int columns, int rows, bool braille)
      : columns_(columns),
        rows_(rows),
        across_(braille ? 2 : 1),
        down_(braille ? 4 : 1),
        cells_(static_cast<size_t>(columns) * static_cast<size_t>(rows)) {}

  struct Dot {
    int x, y;
  };
  Dot dot(double x_fraction, double y_fraction) const {
    const double right = columns_ * across_ - 1, bottom = rows_ * down_ - 1;
    return {static_cast<int>(std::lround(std::clamp(x_fraction, 0.0, 1.0) * right)),
            static_cast<int>(std::lround((1 - std::clamp(y_fraction, 0.0, 1.0)) * bottom))};
  }

  void line(Dot from, Dot to, int series) {
    const int steps = std::max({std::abs(to.x - from.x), std::abs(to.y - from.y), 1});
    for (int i = 0; i <= steps; ++i) {
      const double part = static_cast<double>(i) / steps;
      set({static_cast<int>(std::lround(from.x + part * (to.x - from.x))),
           static_cast<int>(std::lround(from.y + part * (to.y - from.y)))},
          series);
    }
  }

  struct Cell {
    unsigned dots = 0;
    int series = -1;  // that drew last
  };
  const Cell &cell(int column, int row) const {
    return cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_) +
                  static_cast<size_t>(column)];
  }

 private:
  void set(Dot at, int series) {
    static constexpr unsigned bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    Cell &cell = cells_[static_cast<size_t>(at.y / down_) * static_cast<size_t>(columns_) +
                        static_cast<size_t>(at.x / across_)];
    cell.dots |= bits[at.y % down_][at.x % across_];
    cell.series = series;
  }

  int columns_, rows_, across_, down_;
  std::vector<Cell> cells_;
};

Canvas draw(const std::vector<Series> &series, const Axes &axes, int columns, bool braille) {
  Canvas canvas(columns, rows, braille);
  for (size_t i = 0; i < series.size(); ++i) {
    const Point *before = nullptr;
    for (const Point &point : series[i].points) {
      const Point *here = std::isfinite(point.y) ? &point : nullptr;
      if (here) {
        const auto dot = [&](const Point &p) {
          return canvas.dot(axes.x.fraction(p.x), axes.y.fraction(p.y));
        };
        canvas.line(dot(before ? *before : *here), dot(*here), static_cast<int>(i));
      }
      before = here;
    }
  }
  return canvas;
}

std::string cell_text(const Canvas &canvas, int column, int row, size_t series_count,
                      const Terminal &terminal) {
  const Canvas::Cell &cell = canvas.cell(column, row);
  if (cell.series < 0) return " ";
  const auto series = static_cast<size_t>(cell.series);
  // Marks stand at every eighth column, each series at columns of its own.
  const bool marked = series_count > 1 && static_cast<size_t>(column) % 8 == series * 3 % 8;
  const std::string text = !terminal.utf8 ? ascii_marks[series % ascii_marks.size()]
                           : marked       ? marks[series % marks.size()]
                                          : utf8(0x2800 + cell.dots);
  return painted(terminal, colours[series % colours.size()], text);
}

// The line under the plot with its ticks, and the numbers under those.
std::string x_axis(const Axis &axis, int columns, size_t margin, const Terminal &terminal) {
  std::vector<bool> ticks(static_cast<size_t>(columns));
  std::string labels(margin + 2 + static_cast<size_t>(columns) + 24, ' ');
  size_t free_from = 0;
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const auto column =
        static_cast<size_t>(std::lround(axis.fraction(axis.ticks[i]) * (columns - 1)));
    ticks[column] = true;
    const std::string &label = axis.labels[i];
    const size_t middle = margin + 2 + column, half = label.size() / 2;
    const size_t begin = middle > half ? middle - half : 0;
    if (begin < free_from) continue;
    labels.replace(begin, label.size(), label);
    free_from = begin + label.size() + 1;
  }
  std::string line(margin + 1, ' ');
  line += terminal.utf8 ? "└" : "+";
  for (const bool tick : ticks) {
    line += terminal.utf8 ? (tick ? "┬" : "─") : (tick ? "+" : "-");
  }
  labels.erase(labels.find_last_not_of(' ') + 1);
  const std::string title = "steps";
  const size_t indent = margin + 2 + static_cast<size_t>(columns) / 2 - title.size() / 2;
  return line + "\n" + labels + "\n" + std::string(indent, ' ') + title + "\n";
}

}  // namespace

std::string render_plot(const std::vector<Series> &series, const Terminal &terminal) {
  const int width = std::clamp(terminal.width, 20, 200);
  const auto axes = fit_axes(series, width / 12, 5);
  if (!axes) return "";

  size_t margin = 0;
  for (const std::string &label : axes->y.labels) margin = std::max(margin, label.size());
  const int columns = std::max(10, width - static_cast<int>(margin) - 4);
  const Canvas canvas = draw(series, *axes, columns, terminal.utf8);

  std::vector<const std::string *> row_labels(rows, nullptr);
  for (size_t i = 0; i < axes->y.ticks.size(); ++i) {
    const double row = (1 - axes->y.fraction(axes->y.ticks[i])) * (rows - 1);
    row_labels[static_cast<size_t>(std::lround(row))] = &axes->y.labels[i];
  }
  std::string out;
  for (int row = 0; row < rows; ++row) {
    const std::string *label = row_labels[static_cast<size_t>(row)];
    std::string line =
        std::string(margin - (label ? label->size() : 0), ' ') + (label ? *label : "");
    line += terminal.utf8 ? (label ? " ┤" : " │") : (label ? " +" : " |");
    for (int column = 0; column < columns; ++column) {
      line += cell_text(canvas, column, row, series.size(), terminal);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  out += x_axis(axes->x, columns, margin, terminal);
  for (size_t i = 0; i < series.size(); ++i) {
    const char *mark =
        terminal.utf8 ? marks[i % marks.size()] : ascii_marks[i % ascii_marks.size()];
    out += "  " + painted(terminal, colours[i % colours.size()], mark) + " " + series[i].name +
           ": " + summary(series[i]) + "\n";
  }
  return out;
}

}  // namespace det::cli
