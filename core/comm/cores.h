// Whether the ranks of a machine can all run at the same time.
#pragma once

#include <string>
#include <vector>

namespace det::comm {

// The cores that this process may run on, for has_core_for_each() on another rank.
std::string cores_of_this_process();
bool has_core_for_each(const std::vector<std::string> &ranks);

}  // namespace det::comm
