#pragma once

#include "core/base/process.h"

namespace det::engine {

// Kills a process of this machine and waits until it is gone, for a few seconds at most. Nothing
// where it is gone already.
void kill_process(const ProcessIdentity &process);

}  // namespace det::engine
