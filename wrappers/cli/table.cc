#include "table.h"

#include <algorithm>

namespace det::cli {

namespace {

constexpr size_t rows_that_fix_widths = 500;
constexpr size_t widest_cell = 40;

Colour colour_of_state(const std::string &state) {
  if (state == "ERROR") return Colour::red;
  if (state == "COMPLETED") return Colour::green;
  if (state == "ACTIVE" || state == "RUNNING") return Colour::cyan;
  return Colour::yellow;
}

}  // namespace

Table::Table(const Terminal &terminal, std::vector<Column> columns)
    : terminal_(terminal), columns_(std::move(columns)) {
  for (Column &column : columns_) {
    column.title = shortened_inside(printable(column.title), widest_cell, terminal_);
    widths_.push_back(display_width(column.title));
  }
}

void Table::add(std::vector<std::string> cells) {
  ++rows_;
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i] = shortened(printable(cells[i]), widest_cell, terminal_);
    widths_[i] = std::max(widths_[i], display_width(cells[i]));
  }
  if (widths_fixed_) return print_row(cells);
  held_.push_back(std::move(cells));
  if (held_.size() == rows_that_fix_widths) print_held();
}

void Table::finish() {
  if (!widths_fixed_ && !empty()) print_held();
}

void Table::print_held() {
  widths_fixed_ = true;
  std::vector<std::string> titles;
  for (const Column &column : columns_) titles.push_back(column.title);
  print_row(titles);
  for (const auto &cells : held_) print_row(cells);
  held_.clear();
}

void Table::print_row(const std::vector<std::string> &cells) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths_[i] - display_width(cells[i]), ' ');
    const bool state = columns_[i].title == "STATE" && cells[i] != "STATE";
    const std::string text =
        state ? painted(terminal_, colour_of_state(cells[i]), cells[i]) : cells[i];
    if (i > 0) line += "  ";
    line += columns_[i].align == Align::right ? padding + text : text + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  print(line + "\n");
}

}  // namespace det::cli
