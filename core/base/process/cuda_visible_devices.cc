#include "core/base/process/cuda_visible_devices.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

namespace det {

std::vector<std::string> cuda_visible_devices(size_t count) {
  std::vector<std::string> gpus;
  const char *const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) {
    for (size_t i = 0; i < count; ++i) gpus.push_back(std::to_string(i));
    return gpus;
  }
  // As CUDA reads it: up to the first that does not exist.
  std::istringstream names(visible);
  for (std::string name; count > 0 && std::getline(names, name, ',');) {
    std::erase(name, ' ');
    size_t number = 0;
    const char *const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data(), end, number);
    const bool exists = error == std::errc() ? stop == end && number < count
                                             : name.starts_with("GPU-") || name.starts_with("MIG-");
    if (!exists || std::ranges::find(gpus, name) != gpus.end()) break;
    gpus.push_back(name);
  }
  return gpus;
}

}  // namespace det
