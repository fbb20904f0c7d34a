#include "core/comm/join/variables.h"

#include "core/base/error.h"
#include "core/base/process/environment.h"

namespace det::comm {

namespace {

[[noreturn]] void throw_contradiction(const std::string &name, int64_t value,
                                      const std::string &other, int64_t other_value) {
  throw Error(Code::invalid, "joining a job: " + name + "=" + std::to_string(value) + " and " +
                                 other + "=" + std::to_string(other_value) +
                                 " contradict each other; unset what another launcher left behind");
}

void check_pair(const char *name, int rank, const char *size_name, int size) {
  if (name != nullptr && rank >= size) throw_contradiction(name, rank, size_name, size);
}

void check_part(const char *name, int part, const char *size_name, int size) {
  if (name != nullptr && part > size) throw_contradiction(name, part, size_name, size);
}

}  // namespace

bool is_set(const char *name) { return !environment_variable(name).empty(); }

std::string variable(const char *name, const char *launcher) {
  std::string value = environment_variable(name);
  if (value.empty())
    throw Error(Code::not_found, std::string("joining a job of ") + launcher + ": the variable " +
                                     name + " is not set; start the program with that launcher");
  return value;
}

int rank_variable(const char *name, const char *launcher) {
  variable(name, launcher);
  const int64_t value = *environment_integer(name);
  if (value < 0 || value > 1'000'000'000)
    throw Error(Code::invalid, std::string("reading the variable ") + name + "=" +
                                   std::to_string(value) + ": expected a rank or a number of them");
  return static_cast<int>(value);
}

void check_equal(const std::string &name, int64_t value, const std::string &other,
                 int64_t other_value) {
  if (value != other_value) throw_contradiction(name, value, other, other_value);
}

void check_ranks(const Ranks &ranks, const RankNames &names) {
  check_pair(names.rank, ranks.rank, names.size, ranks.size);
  check_pair(names.local_rank, ranks.local_rank, names.local_size, ranks.local_size);
  check_pair(names.cross_rank, ranks.cross_rank, names.cross_size, ranks.cross_size);
  check_part(names.local_size, ranks.local_size, names.size, ranks.size);
  check_part(names.cross_size, ranks.cross_size, names.size, ranks.size);
}

Ranks read_ranks(const RankNames &names) {
  Ranks ranks;
  const auto read = [&](const char *name, int &number) {
    if (name != nullptr) number = rank_variable(name, names.launcher);
  };
  read(names.rank, ranks.rank);
  read(names.size, ranks.size);
  read(names.local_rank, ranks.local_rank);
  read(names.local_size, ranks.local_size);
  read(names.cross_rank, ranks.cross_rank);
  read(names.cross_size, ranks.cross_size);
  check_ranks(ranks, names);
  return ranks;
}

}  // namespace det::comm
