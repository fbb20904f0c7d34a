// Parallel coordinates, drawn in characters.
#include <algorithm>
#include <cmath>

#include "dots.h"
#include "plot_text.h"

namespace det::cli {

namespace {

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

}  // namespace

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

}  // namespace det::cli
