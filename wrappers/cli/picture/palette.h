// Colours that are told apart without full colour vision too.
#pragma once

#include <array>
#include <cstddef>

namespace det::cli {

struct Rgb {
  double red, green, blue;
};

constexpr Rgb rgb(unsigned hex) {
  return {(hex >> 16) / 255.0, (hex >> 8 & 0xFF) / 255.0, (hex & 0xFF) / 255.0};
}

constexpr Rgb ink = rgb(0x262626), grey = rgb(0x737373), pale = rgb(0xe3e3e3);

// Of Okabe and Ito, without the yellow that is too pale for a line on white.
constexpr std::array line_colours = {rgb(0x0072b2), rgb(0xd55e00), rgb(0x009e73), rgb(0xcc79a7),
                                     rgb(0xe69f00), rgb(0x56b4e9), rgb(0x444444)};

// The scale viridis: from 0, dark, to 1, bright.
Rgb viridis(double part);

}  // namespace det::cli
