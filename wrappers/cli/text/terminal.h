// Standard output: what it can show, and writing to it. Text from a store, a master or a file goes
// through printable() first.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/text/printable.h"

namespace det::cli {

struct Terminal {
  bool interactive = false;  // standard output is a terminal
  bool cursor = false;       // a terminal whose cursor can be moved: not TERM=dumb
  bool colour = false;       // and NO_COLOR is not set either
  bool utf8 = false;         // by the locale
  int width = 80;            // columns: $COLUMNS, else the terminal's, else 80
  int height = 24;           // lines: $LINES, else the terminal's, else 24
  int own_width = 0;         // whatever the variables say; 0: it does not tell
  int own_height = 0;
};

Terminal detect_terminal();

// Asks for its size again, and whether that has changed while somebody looked on.
bool measure(Terminal &terminal);

enum class Colour : int { red = 31, green = 32, yellow = 33, blue = 34, magenta = 35, cyan = 36 };

// `text` as it is when the terminal shows no colours.
std::string painted(const Terminal &terminal, Colour colour, std::string_view text);

// Columns that `text`, already printable, takes on the terminal.
size_t display_width(std::string_view text);

// `text` cut to `columns`, with a mark where something is missing.
std::string shortened(std::string_view text, size_t columns, const Terminal &terminal);

// The same with the middle missing, for names that end in what tells them apart.
std::string shortened_inside(std::string_view text, size_t columns, const Terminal &terminal);

// Thrown by print() and flush_output() when nobody reads any more (`det ls | head -1`).
struct OutputClosed {};

// Writes to standard output. Throws OutputClosed, or Failure when it cannot be written.
void print(std::string_view text);
void flush_output();

// What print() is given meanwhile, which is not written.
std::string captured(const std::function<void()> &action);

}  // namespace det::cli
