// Where a leader can be reached: an abstract Unix socket on its machine, or TCP.
#pragma once

#include <string>
#include <vector>

#include "core/base/process/unshared_fd.h"
#include "core/comm/transport.h"

namespace det::comm {

struct Endpoint {
  enum class Kind { unix_socket, tcp };
  Kind kind = Kind::unix_socket;
  std::string name;        // of the Unix socket, or the host
  int port = 0;            // 0 for a listener: any
  bool from_afar = false;  // other machines connect to it

  std::string text() const;  // "unix:NAME" or "tcp:HOST:PORT", with "[HOST]" for IPv6
};

// IPv6 addresses beside ports stand in brackets; the system takes them without.
std::string without_brackets(const std::string &host);

// Throws Code::corrupt for what text() does not make.
Endpoint parse_endpoint(const std::string &text);

// Binds no wider than the endpoint says. All addresses of the machine are taken where the named one
// is none of them, as behind a translated address, and where other machines are to reach a name
// that this machine knows as itself alone (Debian's /etc/hosts has its own name at 127.0.1.1).
// Where somebody else has the port of one of them, Code::busy is thrown.
std::vector<UnsharedFd> listen_at(const Endpoint &endpoint);

// Tries until somebody listens there, for as long as `patience` lasts.
UnsharedFd connect_to(const Endpoint &endpoint, Patience &patience);

// For a TCP connection: a machine that lost its power says nothing, and this notices in a minute.
void keep_alive(const UnsharedFd &connection);

// The address of this machine by which it reaches an endpoint, and that by which another one came
// here; as numbers.
std::string own_host(const Endpoint &to_reach);
std::string host_of_peer(const UnsharedFd &connection);

// The port that a listener got.
int port_of(const UnsharedFd &listener);

// "process 17" or "a process at 10.0.0.7", for people.
std::string name_of_peer(const UnsharedFd &connection, Endpoint::Kind kind);

// Whether the process at the other end of a Unix socket is of this user. Always true for TCP.
bool is_own_peer(const UnsharedFd &connection, Endpoint::Kind kind);

// Of the few bytes of a handshake, which fit into the buffer of a fresh socket.
bool send_whole(const UnsharedFd &connection, const std::string &bytes);

}  // namespace det::comm
