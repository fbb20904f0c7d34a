// Pictures within a terminal.
#pragma once

#include <string>

#include "figure.h"
#include "terminal.h"

namespace det::cli {

enum class PictureProtocol { none, kitty, iterm, sixel };

// What the terminal draws, and the pixels of one of its cells.
struct PictureTerminal {
  PictureProtocol protocol = PictureProtocol::none;
  int cell_width = 8, cell_height = 16;
};

// Asks the terminal, for a second at most; none where it is no terminal or cannot.
PictureTerminal detect_picture_terminal(const Terminal &terminal);

// A PNG as the protocols want it: of kitty in pieces of 4,096 characters at most, on so many
// columns.
std::string kitty_picture(const std::string &png, int columns);
std::string iterm_picture(const std::string &png, int columns);

// What the terminal is sent for the figure, in its width. Throws Failure.
std::string picture_for(const Figure &figure, const PictureTerminal &pictures,
                        const Terminal &terminal);

}  // namespace det::cli
