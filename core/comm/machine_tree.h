// How the machines of a job are connected. The chief's is number 0; the others are numbered as they
// come, and each is connected with one that came before it: the chief's own as long as those are
// few. So nobody has more connections than `fan_out` and one for each rank of its machine.
#pragma once

#include <algorithm>

namespace det::comm {

constexpr int fan_out = 64;

constexpr int parent_of(int number) { return (number - 1) / fan_out; }

// How many machines are connected with this one, of so many in the job.
constexpr int children_of(int number, int machines) {
  return std::clamp(machines - 1 - number * fan_out, 0, fan_out);
}

}  // namespace det::comm
