// Rows in aligned columns. The first rows fix the widths; those after them are printed at once, so
// that a list of any length needs little memory.
#pragma once

#include <string>
#include <vector>

#include "wrappers/cli/text/terminal.h"

namespace det::cli {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
};

class Table {
 public:
  Table(const Terminal &terminal, std::vector<Column> columns);

  // One text per column, from anywhere: cells are made printable and cut to a width that fits. On a
  // terminal that is too narrow for all, texts become shorter first, and then the line is cut.
  void add(std::vector<std::string> cells);
  // Prints what is still held back. Prints nothing when there were no rows.
  void finish();
  bool empty() const { return rows_ == 0; }

 private:
  void print_row(const std::vector<std::string> &cells) const;
  void print_held();
  void fit_widths();

  const Terminal &terminal_;
  std::vector<Column> columns_;
  std::vector<size_t> widths_;
  std::vector<size_t> most_;  // a cell is cut to so many columns
  std::vector<std::vector<std::string>> held_;
  size_t rows_ = 0;
  bool widths_fixed_ = false;
};

}  // namespace det::cli
