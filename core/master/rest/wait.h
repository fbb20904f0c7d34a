#pragma once

#include <chrono>

#include "core/base/wake.h"

namespace det::master {

// Waits until then, or until `wake` is set: true.
bool wait_until(std::chrono::steady_clock::time_point then, const Wake &wake);

}  // namespace det::master
