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

  // Waits for one connection from each of `expected` (ranks of a job), in that order.
  // What goes wrong is told to those that have come.
  std::vector<Fd> gather(const Hello &mine, std::vector<int> expected, Patience &patience);

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
    bool is_gone = false;
  };
  void wait_for_visitors(Patience &patience);
  void let_in(const Listener &listener);
  bool listen_to(Visitor &visitor);
  void judge(Visitor &visitor);
  size_t place_of(const Hello &hello) const;
  [[noreturn]] void miss() const;
  void tell(const Error &error) const;

  const std::string secret_;
  std::vector<Listener> listeners_;
  std::vector<Visitor> visitors_;
  int port_ = 0;

  // Of the job that is being gathered.
  Hello mine_;
  std::vector<int> expected_;
  std::vector<Fd> members_;
  size_t missing_ = 0;
};

// The member's side. Throws Code::access when the other side is not of this job.
Fd apply_at(const Endpoint &endpoint, const Hello &mine, const std::string &secret,
            Patience &patience);

}  // namespace det
