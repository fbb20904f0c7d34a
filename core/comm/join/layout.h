// Who is where: what the ranks say of themselves while joining, and what the chief makes of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/comm/communicator.h"

namespace det::comm {

struct Introduction {
  Ranks ranks;
  std::string memory = {};  // of a local chief: what it shares with those of its machine
};

// What a rank is told of its machine.
struct Machine {
  std::vector<int> members;  // ranks of the job, by local rank
  std::string memory;        // what the first of them shares
};

// Throws Code::invalid, naming both, where two ranks of a job contradict each other.
void compare(const Ranks &one, const Ranks &other);

std::string encode(const Introduction &introduction);

// The chief's answers to what the ranks said, in that order; its own is the first. Throws
// Code::invalid, naming two that contradict each other, unless the ranks of every machine are
// numbered 0 to local_size - 1, each once.
std::vector<Message> answer_introductions(const std::vector<Message> &introductions);

// Throws Code::corrupt for what is no such answer.
Machine decode_machine(const std::string &answer, const Ranks &ranks);

// How the machines of a job are connected. The chief's is number 0; the others are numbered as they
// come, and each is connected with one that came before it: the chief's own as long as those are
// few. So nobody has more connections than `fan_out` and one for each rank of its machine.
constexpr int fan_out = 64;

constexpr int parent_of(int number) { return (number - 1) / fan_out; }

// How many machines are connected with this one, of so many in the job.
constexpr int children_of(int number, int machines) {
  return std::clamp(machines - 1 - number * fan_out, 0, fan_out);
}

}  // namespace det::comm
