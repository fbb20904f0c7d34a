// The other side of a rendezvous: comes to a leader and proves that it belongs to the job.
#pragma once

#include <string>

#include "core/comm/endpoint.h"
#include "core/comm/handshake.h"

namespace det::comm {

struct Admission {
  UnsharedFd connection;
  Welcome welcome;
};
// Goes where it is sent. Throws Code::access when who listens is not of this job.
Admission apply_at(Endpoint endpoint, const Hello &mine, const std::string &secret,
                   Patience &patience);

}  // namespace det::comm
