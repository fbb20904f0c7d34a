// Where a chief can be reached: an abstract Unix socket on its machine, or TCP.
#pragma once

#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/comm/transport.h"

namespace det {

struct Endpoint {
  enum class Kind { unix_socket, tcp };
  Kind kind = Kind::unix_socket;
  std::string name;  // of the Unix socket, or the host
  int port = 0;      // 0 for a listener: any

  std::string text() const;  // "unix:NAME" or "tcp:HOST:PORT"
};

// Throws Code::corrupt for what text() does not make.
Endpoint parse_endpoint(const std::string &text);

// Binds no wider than the endpoint says. A host whose address is none of this machine's, as behind
// a translated address, listens on all of them.
std::vector<Fd> listen_at(const Endpoint &endpoint);

// Tries until somebody listens there, for as long as `patience` lasts.
Fd connect_to(const Endpoint &endpoint, Patience &patience);

// The port that a listener got.
int port_of(const Fd &listener);

// Whether the process at the other end of a Unix socket is of this user. Always true for TCP.
bool is_own_peer(const Fd &connection, Endpoint::Kind kind);

}  // namespace det
