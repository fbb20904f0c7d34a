#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace det {

// The GPUs that CUDA shows to this process where the machine has `count`, each by a name that the
// variable CUDA_VISIBLE_DEVICES knows it by: its number, or the beginning of a UUID (GPU-...,
// MIG-...).
std::vector<std::string> cuda_visible_devices(size_t count);

}  // namespace det
