// Lines and dots in the cells of a terminal: of braille characters, or plain ASCII.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace det::cli {

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

}  // namespace det::cli
