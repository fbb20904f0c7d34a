// One GPU for one trial, among all that run trials on this machine.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/file.h"

namespace det::launcher {

// Holds the GPU as long as this descriptor or a copy of it is open: a process that inherits one
// keeps its GPU when who started it is gone. No descriptor where another has the GPU. `directory`
// is one that all of them write to, as /tmp.
Fd claim_gpu(const std::string &name, const std::filesystem::path &directory);

}  // namespace det::launcher
