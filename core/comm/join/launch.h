// Which job this process belongs to, from the variables of the program that launched it.
#pragma once

#include <string>

#include "core/comm/communicator.h"

namespace det::comm {

struct Launch {
  Ranks ranks;
  std::string chief_ip = {};  // empty: not given
  std::string launcher = {};  // for messages; empty: none
  // An MPI launched it, which alone knows every number: what its variables leave out is 0 of 0 in
  // `ranks`.
  bool through_mpi = false;
};

// DET_CHIEF_IP where the argument is empty.
std::string chief_or_variable(const std::string &chief_ip);

// Each throws Code::not_found, naming a variable that is missing, or Code::invalid for a value that
// is no rank and for variables that contradict each other. `chief_ip` overrides DET_CHIEF_IP unless
// empty.
Launch launch_from_horovod(const std::string &chief_ip);
Launch launch_from_deepspeed(const std::string &chief_ip);
Launch launch_from_torch(const std::string &chief_ip);
Launch launch_from_tf_config();

// Whichever launcher left its variables; one process when none did.
Launch launch_from_environment();

}  // namespace det::comm
