// Things beside each other: a column for each, a line for each of their properties.
#pragma once

#include <string>
#include <vector>

#include "terminal.h"

namespace det::cli {

class SideBySide {
 public:
  // The titles of the columns are those of the first line.
  SideBySide(std::string label, std::vector<std::string> titles);

  void add(std::string label, std::vector<std::string> cells);
  void add_section(std::string title);

  // Texts from anywhere. Under each other as many columns as a terminal has room for.
  void print_on(const Terminal &terminal) const;

 private:
  struct Line {
    std::string label;
    std::vector<std::string> cells;  // none: a section begins
  };
  std::vector<Line> lines_;
};

}  // namespace det::cli
