#include "palette.h"

#include <algorithm>
#include <cmath>

namespace det::cli {

Rgb viridis(double part) {
  constexpr std::array anchors = {rgb(0x440154), rgb(0x482878), rgb(0x3e4a89),
                                  rgb(0x31688e), rgb(0x26828e), rgb(0x1f9e89),
                                  rgb(0x35b779), rgb(0x6ece58), rgb(0xb5de2b)};
  const double place = std::clamp(part, 0.0, 1.0) * (anchors.size() - 1);
  const auto from = std::min(static_cast<size_t>(place), anchors.size() - 2);
  const double rest = place - static_cast<double>(from);
  const auto between = [&](double a, double b) { return a + (b - a) * rest; };
  return {between(anchors[from].red, anchors[from + 1].red),
          between(anchors[from].green, anchors[from + 1].green),
          between(anchors[from].blue, anchors[from + 1].blue)};
}

}  // namespace det::cli
