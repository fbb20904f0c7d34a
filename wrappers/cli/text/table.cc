#include "wrappers/cli/text/table.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace det::cli {

namespace {

constexpr size_t rows_that_fix_widths = 500;
constexpr size_t widest_cell = 40;
constexpr size_t narrowest_text = 8;  // of what a narrow terminal makes shorter

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
    most_.push_back(widest_cell);
  }
}

void Table::add(std::vector<std::string> cells) {
  ++rows_;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!is_plain(cells[i])) cells[i] = printable(cells[i]);
    size_t width = display_width(cells[i]);
    if (width > most_[i]) {
      cells[i] = shortened(cells[i], most_[i], terminal_);
      width = display_width(cells[i]);
    }
    widths_[i] = std::max(widths_[i], width);
  }
  if (widths_fixed_) return print_row(cells);
  held_.push_back(std::move(cells));
  if (held_.size() == rows_that_fix_widths) print_held();
}

void Table::finish() {
  if (!widths_fixed_ && !empty()) print_held();
}

// Of the texts the widest gives way first; a state is worth its width.
void Table::fit_widths() {
  if (!terminal_.interactive) return;
  const auto room = static_cast<size_t>(std::max(terminal_.width, 1));
  size_t all = std::accumulate(widths_.begin(), widths_.end(), 2 * (widths_.size() - 1));
  while (all > room) {
    size_t widest = widths_.size();
    for (size_t i = 0; i < widths_.size(); ++i) {
      const bool is_text = columns_[i].align == Align::left && columns_[i].title != "STATE";
      if (is_text && widths_[i] > std::max(narrowest_text, display_width(columns_[i].title)) &&
          (widest == widths_.size() || widths_[i] > widths_[widest]))
        widest = i;
    }
    if (widest == widths_.size()) return;
    most_[widest] = --widths_[widest];
    --all;
  }
}

void Table::print_held() {
  widths_fixed_ = true;
  fit_widths();
  std::vector<std::string> titles;
  for (const Column &column : columns_) titles.push_back(column.title);
  print_row(titles);
  for (auto &cells : held_) {
    for (size_t i = 0; i < cells.size(); ++i) cells[i] = shortened(cells[i], most_[i], terminal_);
    print_row(cells);
  }
  held_.clear();
}

void Table::print_row(const std::vector<std::string> &cells) const {
  std::string line;
  size_t room =
      terminal_.interactive ? static_cast<size_t>(std::max(terminal_.width, 1)) : SIZE_MAX;
  for (size_t i = 0; i < cells.size() && room > 0; ++i) {
    const size_t gap = i > 0 ? 2 : 0, padding = widths_[i] - display_width(cells[i]);
    const size_t before = gap + (columns_[i].align == Align::right ? padding : 0);
    const bool whole = gap + widths_[i] <= room;
    const bool state = columns_[i].title == "STATE" && cells[i] != "STATE";
    if (whole) {
      line.append(before, ' ');
      line += state ? painted(terminal_, colour_of_state(cells[i]), cells[i]) : cells[i];
      line.append(gap + padding - before, ' ');
    } else {
      const std::string cell = std::string(before, ' ') + cells[i];
      line += shortened(cell.substr(0, cell.find_last_not_of(' ') + 1), room, terminal_);
    }
    room -= std::min(gap + widths_[i], room);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  print(line += '\n');
}

}  // namespace det::cli
