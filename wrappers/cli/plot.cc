#include "plot.h"

#include <algorithm>

#include "plot_text.h"

namespace det::cli {

int plot_width(const Terminal &terminal) { return std::clamp(terminal.width, 20, 200); }

std::string render_plot(const Figure &figure, const Terminal &terminal) {
  return std::visit([&](const auto &kind) { return render(kind, terminal); }, figure);
}

}  // namespace det::cli
