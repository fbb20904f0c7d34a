// Something that is shown over and over, until Ctrl-C.
#pragma once

#include <functional>

#include "terminal.h"

namespace det::cli {

// What `draw` prints, every other second: on a terminal in the place of what it printed before, as
// much as fits; elsewhere below it, with an empty line between.
void watch(Terminal terminal, const std::function<void(const Terminal &)> &draw);

}  // namespace det::cli
