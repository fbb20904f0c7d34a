// Makes the communicator of a job from what is known of its launch.
#pragma once

#include <chrono>
#include <memory>

#include "core/comm/communicator.h"
#include "core/comm/join/launch.h"

namespace det::comm {

struct JoinOptions {
  int port = 0;         // of the chief; 0: INTER_TRAIN_PROCESS_COMM_PORT_1, else 12360
  int port_offset = 0;  // added to it
  bool force_tcp = false;
  std::chrono::milliseconds timeout{0};  // of a silent rank; 0: default_join_timeout()
};

// Collective over all ranks, over sockets: Unix sockets within a machine, TCP between machines.
// Throws Code::invalid for numbers that are impossible or contradict those of other ranks, and for
// a job of several machines without the chief's address.
std::unique_ptr<Communicator> join(const Launch &launch, const JoinOptions &options);

}  // namespace det::comm
