// What this machine has to run trials on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace det::launcher {

// The NVIDIA GPUs this process may use, each as CUDA_VISIBLE_DEVICES names it. `root` is where
// /proc and /dev are looked for.
std::vector<std::string> visible_gpus(const std::filesystem::path &root = "/");

// The cores this process may use: by its affinity, and by the limits of its control groups.
int usable_cores(const std::filesystem::path &root = "/");

}  // namespace det::launcher
