// The memory of other processes of this user on this machine, where the kernel lets them read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace det::comm {

// Some bytes in some process.
struct Bulk {
  int64_t process = 0;
  uint64_t address = 0;
};

// Throws Code::unavailable for what cannot be read.
void read_memory(const Bulk &from, char *to, size_t size);

// An invitation to try it, for other processes; `known` is what they find there, and stays where it
// is.
std::string invite_to_read(const std::string &known);
// Whether it worked, and was no other process.
bool can_read(const std::string &invitation, const std::string &known) noexcept;

}  // namespace det::comm
