// Lines on a terminal: dots in braille characters, or plain ASCII.
#pragma once

#include <string>
#include <vector>

#include "series.h"
#include "terminal.h"

namespace det::cli {

// Names must be printable. Each series has a mark of its own along its line, and a colour where
// the terminal shows colours. ASCII where the terminal is not in UTF-8. Empty when there is no
// finite value.
std::string render_plot(const std::vector<Series> &series, const Terminal &terminal);

}  // namespace det::cli
