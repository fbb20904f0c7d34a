// Who is where: what the ranks say of themselves while joining, and what the chief makes of it.
#pragma once

#include <string>
#include <vector>

#include "core/comm/communicator.h"

namespace det {

struct Introduction {
  Ranks ranks;
  std::string local_address = {};  // of a local chief: where those of its machine find it
  std::string memory = {};         // what it shares with them
};

// What a rank is told of its machine.
struct Machine {
  std::vector<int> members;  // ranks of the job, by local rank
  std::string address;       // of the first of them
  std::string memory;        // what it shares
};

std::string encode(const Introduction &introduction);

// The chief's answers to what the ranks said, in that order; its own is the first. Throws
// Code::invalid, naming two that contradict each other, unless the ranks of every machine are
// numbered 0 to local_size - 1, each once.
std::vector<Message> answer_introductions(const std::vector<Message> &introductions);

// Throws Code::corrupt for what is no such answer.
Machine decode_machine(const std::string &answer, const Ranks &ranks);

}  // namespace det
