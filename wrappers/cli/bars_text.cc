// Bars, drawn in characters.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plot_text.h"

namespace det::cli {

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

}  // namespace det::cli
