// The variables launchers leave, read as ranks and numbers of them.
#pragma once

#include <string>

#include "core/comm/communicator.h"

namespace det::comm {

// Where a launcher puts each number; null where it does not.
struct RankNames {
  const char *launcher;
  const char *rank, *size;
  const char *local_rank = nullptr, *local_size = nullptr;
  const char *cross_rank = nullptr, *cross_size = nullptr;
};

bool is_set(const char *name);

// Throws Code::not_found when the variable is missing.
std::string variable(const char *name, const char *launcher);

// As variable(), and throws Code::invalid when the value is no rank.
int rank_variable(const char *name, const char *launcher);

// Throws Code::invalid unless two variables that mean the same number do.
void check_equal(const std::string &name, int64_t value, const std::string &other,
                 int64_t other_value);

// Throws Code::invalid, naming the variables, unless the numbers describe a rank of a job.
void check_ranks(const Ranks &ranks, const RankNames &names);

// Reads and checks all that have a name; the others stay as in a job of one process.
Ranks read_ranks(const RankNames &names);

}  // namespace det::comm
