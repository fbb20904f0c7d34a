#include "dots.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace det::cli {

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

}  // namespace det::cli
