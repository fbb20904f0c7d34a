// Descriptors on their way into another program.
#pragma once

#include <span>

#include "core/base/file.h"

namespace det::launcher {

// Out of the way of standard input, output and error, also where those are closed. Throws, naming
// `what` could not be opened.
Fd above_standard(Fd fd, const char *what);

// All above standard error but those in `kept`, which are in order. Async-signal-safe.
void close_all_but(std::span<const int> kept);

}  // namespace det::launcher
