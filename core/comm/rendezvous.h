// Brings a root and its members together: the root listens, the members come and prove that they
// belong to the job.
#pragma once

#include <string>
#include <vector>

#include "core/comm/endpoint.h"
#include "core/comm/handshake.h"
#include "core/comm/stream.h"

namespace det {

// Accepts strangers only as far as their first message; closes its sockets when it ends.
class Rendezvous {
 public:
  Rendezvous(const std::vector<Endpoint> &endpoints, std::string secret);

  // The port of the first TCP endpoint.
  int port() const { return port_; }

  // Waits for one connection from each of `expected` (ranks of a job of `size`), in their order.
  std::vector<Fd> gather(const Hello &mine, const std::vector<int> &expected, Patience &patience);

 private:
  struct Listener {
    Fd fd;
    Endpoint::Kind kind;
  };
  struct Visitor {
    Fd fd;
    std::string challenge;
    std::string received;
    Patience patience;
  };
  void let_in(const Listener &listener);
  bool listen_to(Visitor &visitor);

  const std::string secret_;
  std::vector<Listener> listeners_;
  std::vector<Visitor> visitors_;
  int port_ = 0;
};

// The member's side. Throws Code::access when the other side is not of this job.
Fd apply_at(const Endpoint &endpoint, const Hello &mine, const std::string &secret,
            Patience &patience);

}  // namespace det
