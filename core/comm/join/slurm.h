// Jobs started by srun: what Slurm's variables say of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/communicator.h"

namespace det::comm {

struct SlurmStep {
  Ranks ranks;
  std::string chief;  // address or name of the machine of rank 0
};

// The step this process is a task of. Nothing outside of Slurm and in a batch script, which is one
// process however many tasks the job has. Throws Code::not_found or Code::invalid, naming the
// variable.
std::optional<SlurmStep> slurm_step();

// How many tasks each node has, from Slurm's short form: "4(x2),3" is 4, 4, 3. Throws
// Code::invalid.
std::vector<int> parse_tasks_per_node(std::string_view text);

// The first host of a list: "node01" of "node[01-03,7],other". Throws Code::invalid.
std::string first_host(std::string_view list);

}  // namespace det::comm
