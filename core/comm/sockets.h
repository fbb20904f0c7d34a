// The transport for launches without MPI: Unix sockets within a machine, TCP between machines.
#pragma once

#include <memory>
#include <string>

#include "core/comm/communicator.h"
#include "core/comm/transport.h"

namespace det::comm {

struct SocketOptions {
  std::string chief_ip;  // needed when the job has several machines
  int port = 0;          // of the chief
  bool force_tcp = false;
};

// Collective over all ranks: connects every rank with the leader of its machine, and the leaders
// with the chief, through each other where they are many. Throws Code::invalid when TCP is
// needed and there is no secret.
std::unique_ptr<Transport> make_socket_transport(const Ranks &ranks, const SocketOptions &options,
                                                 Patience &patience);

}  // namespace det::comm
