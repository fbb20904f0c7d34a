// How children of this process end.
#pragma once

#include <optional>

#include "core/base/file.h"
#include "core/launcher/launcher.h"

namespace det::launcher {

// How a child ended, without forgetting its number; of whose run is not filled in. Nothing while it
// lives.
std::optional<LaunchedExit> peek_exit(const Fd &child);

// Waits for one that has ended, or is about to. Does nothing for the child of another.
void wait_for(const Fd &child);

}  // namespace det::launcher
