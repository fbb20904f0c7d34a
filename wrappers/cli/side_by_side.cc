#include "side_by_side.h"

#include <algorithm>

namespace det::cli {

namespace {

constexpr size_t widest = 40;

std::string padded_right(const std::string &text, size_t width) {
  return text + std::string(width - std::min(width, display_width(text)), ' ');
}

std::string padded_left(const std::string &text, size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ') + text;
}

}  // namespace

SideBySide::SideBySide(std::string label, std::vector<std::string> titles) {
  add(std::move(label), std::move(titles));
}

void SideBySide::add(std::string label, std::vector<std::string> cells) {
  lines_.push_back({std::move(label), std::move(cells)});
}

void SideBySide::add_section(std::string title) { lines_.push_back({std::move(title), {}}); }

void SideBySide::print_on(const Terminal &terminal) const {
  const size_t room =
      terminal.interactive ? static_cast<size_t>(std::max(terminal.width, 20)) : SIZE_MAX;
  const auto shown = [&](const std::string &text) {
    return shortened(printable(text), std::min(widest, room / 2 - 1), terminal);
  };
  size_t label_width = 0;
  std::vector<size_t> widths(lines_.front().cells.size());
  for (const Line &line : lines_) {
    if (!line.cells.empty()) label_width = std::max(label_width, display_width(shown(line.label)));
    for (size_t i = 0; i < line.cells.size(); ++i)
      widths[i] = std::max(widths[i], display_width(shown(line.cells[i])));
  }
  for (size_t begin = 0, end = 0; begin < widths.size(); begin = end) {
    size_t width = label_width + 2 + widths[end++];
    while (end < widths.size() && width + 2 + widths[end] <= room) width += 2 + widths[end++];
    if (begin > 0) print("\n\n");
    for (const Line &line : lines_) {
      if (line.cells.empty()) {
        print("\n" + line.label + "\n");
        continue;
      }
      std::string text = padded_right(shown(line.label), label_width);
      for (size_t i = begin; i < end; ++i)
        text += "  " + padded_left(shown(line.cells[i]), widths[i]);
      print(text + "\n");
    }
  }
}

}  // namespace det::cli
