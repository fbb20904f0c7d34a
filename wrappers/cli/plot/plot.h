// Figures on a terminal: dots in braille characters, or plain ASCII.
#pragma once

#include <string>

#include "wrappers/cli/plot/figure.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

// Each series has a mark of its own along its line, and a colour where the terminal shows colours.
// ASCII where the terminal is not in UTF-8. Empty where there is nothing to draw.
std::string render_plot(const Figure &figure, const Terminal &terminal);

}  // namespace det::cli
