#include "core/comm/join/endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>

#include "core/base/error.h"
#include "core/comm/stream.h"

namespace det::comm {

namespace {

constexpr int flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int backlog = 1024;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&storage); }
};

// In Linux's abstract namespace nothing is left behind and no file can be in the way.
Address unix_address(const std::string &name) {
  Address address;
  auto &path = reinterpret_cast<sockaddr_un &>(address.storage);
  path.sun_family = AF_UNIX;
  const size_t size = std::min(name.size(), sizeof path.sun_path - 1);
  std::memcpy(&path.sun_path[1], name.data(), size);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return address;
}

// An IPv4 address in the clothes of IPv6 is listened at and connected to as what it is.
Address plain(const Address &address) {
  const auto &mapped = reinterpret_cast<const sockaddr_in6 &>(address.storage);
  if (address.storage.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&mapped.sin6_addr))
    return address;
  Address result;
  auto &plain = reinterpret_cast<sockaddr_in &>(result.storage);
  plain.sin_family = AF_INET;
  plain.sin_port = mapped.sin6_port;
  std::memcpy(&plain.sin_addr, &mapped.sin6_addr.s6_addr[12], sizeof plain.sin_addr);
  result.size = sizeof plain;
  return result;
}

bool is_same(const Address &one, const Address &other) {
  return one.size == other.size && std::memcmp(&one.storage, &other.storage, one.size) == 0;
}

std::vector<Address> tcp_addresses(const Endpoint &endpoint, bool to_listen) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  addrinfo *list = nullptr;
  const int failed = getaddrinfo(endpoint.name.empty() ? nullptr : endpoint.name.c_str(),
                                 std::to_string(endpoint.port).c_str(), &hints, &list);
  if (failed != 0)
    throw Error(Code::invalid, "joining a job: the address '" + endpoint.name + "' of the chief: " +
                                   gai_strerror(failed) + "; check chief_ip or DET_CHIEF_IP");
  const std::unique_ptr<addrinfo, void (*)(addrinfo *)> owner(list, freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo *entry = list; entry != nullptr; entry = entry->ai_next) {
    Address address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
    address = plain(address);
    const auto same = [&](const Address &known) { return is_same(known, address); };
    if (std::ranges::none_of(addresses, same)) addresses.push_back(address);
  }
  return addresses;
}

void set(const UnsharedFd &fd, int level, int option, int value) {
  setsockopt(fd.get(), level, option, &value, sizeof value);
}

}  // namespace

void keep_alive(const UnsharedFd &fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

namespace {

UnsharedFd make_socket(const Address &address) {
  return UnsharedFd::made_by([&] { return Fd(socket(address.storage.ss_family, flags, 0)); });
}

// An errno instead of a listener.
int try_listen(const Address &address, std::vector<UnsharedFd> &listeners) {
  UnsharedFd fd = make_socket(address);
  if (!fd) return errno;
  if (address.storage.ss_family != AF_UNIX) set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.storage.ss_family == AF_INET6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (bind(fd.get(), address.get(), address.size) != 0 || listen(fd.get(), backlog) != 0)
    return errno;
  listeners.push_back(std::move(fd));
  return 0;
}

// An errno where one is not ours: that somebody else has it, before any other.
int listen_on(const std::vector<Address> &addresses, std::vector<UnsharedFd> &listeners) {
  int failed = 0;
  for (const Address &address : addresses)
    if (const int reason = try_listen(address, listeners); reason != 0 && failed != EADDRINUSE)
      failed = reason;
  return failed;
}

bool is_loopback(const Address &address) {
  if (address.storage.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6 &>(address.storage).sin6_addr);
  const in_addr number = reinterpret_cast<const sockaddr_in &>(address.storage).sin_addr;
  return ntohl(number.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool is_number(const std::string &host) {
  std::array<unsigned char, sizeof(in6_addr)> number;
  return inet_pton(AF_INET, host.c_str(), number.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), number.data()) == 1;
}

int try_connect(const Address &address, Patience &patience, UnsharedFd &connection) {
  UnsharedFd fd = make_socket(address);
  if (!fd) return errno;
  if (connect(fd.get(), address.get(), address.size) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (!wait_for(fd.get(), POLLOUT, patience)) return ETIMEDOUT;
    int failed = 0;
    socklen_t size = sizeof failed;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed != 0) return failed;
  }
  if (address.storage.ss_family != AF_UNIX) keep_alive(fd);
  connection = std::move(fd);
  return 0;
}

}  // namespace

std::string Endpoint::text() const {
  if (kind == Kind::unix_socket) return "unix:" + name;
  const bool is_ipv6 = name.find(':') != name.npos;
  return "tcp:" + (is_ipv6 ? "[" + name + "]" : name) + ":" + std::to_string(port);
}

std::string without_brackets(const std::string &host) {
  const bool has_some = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return has_some ? host.substr(1, host.size() - 2) : host;
}

Endpoint parse_endpoint(const std::string &text) {
  if (text.starts_with("unix:")) return {Endpoint::Kind::unix_socket, text.substr(5), 0};
  const size_t colon = text.rfind(':');
  if (text.starts_with("tcp:") && colon > 3 && colon + 1 < text.size() &&
      text.size() - colon <= 6 && text.find_first_not_of("0123456789", colon + 1) == text.npos)
    return {Endpoint::Kind::tcp, without_brackets(text.substr(4, colon - 4)),
            std::stoi(text.substr(colon + 1))};
  throw Error(Code::corrupt, "joining a job: '" + text + "' is no address of a rank");
}

std::vector<UnsharedFd> listen_at(const Endpoint &endpoint) {
  std::vector<UnsharedFd> listeners;
  int failed = 0;
  if (endpoint.kind == Endpoint::Kind::unix_socket) {
    failed = try_listen(unix_address(endpoint.name), listeners);
  } else {
    const std::vector<Address> addresses = tcp_addresses(endpoint, true);
    if (!endpoint.from_afar || is_number(endpoint.name) ||
        !std::ranges::all_of(addresses, is_loopback))
      failed = listen_on(addresses, listeners);
    if (listeners.empty() && (failed == 0 || failed == EADDRNOTAVAIL))
      failed = listen_on(tcp_addresses({endpoint.kind, "", endpoint.port}, true), listeners);
  }
  if (failed == EADDRINUSE)
    throw Error(Code::busy,
                "joining a job: another job on this machine uses '" + endpoint.text() +
                    "'; give this one its own port (pub_port, port_offset or the variable "
                    "INTER_TRAIN_PROCESS_COMM_PORT_1, the same on all ranks)",
                failed);
  if (!listeners.empty()) return listeners;
  OsFailure{failed}.raise("joining a job: listening at '" + endpoint.text() + "'");
}

UnsharedFd connect_to(const Endpoint &endpoint, Patience &patience) {
  const std::vector<Address> addresses = endpoint.kind == Endpoint::Kind::unix_socket
                                             ? std::vector{unix_address(endpoint.name)}
                                             : tcp_addresses(endpoint, false);
  std::chrono::milliseconds pause(2);
  for (;;) {
    UnsharedFd connection;
    int failed = 0;
    for (const Address &address : addresses)
      if ((failed = try_connect(address, patience, connection)) == 0) return connection;
    if (patience.left().count() == 0)
      throw Error(Code::timeout,
                  "joining a job: nothing listens at '" + endpoint.text() + "' (" +
                      errno_text(failed) +
                      "); see whether rank 0 started, and that all ranks "
                      "have its address and port",
                  failed);
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(100));
  }
}

namespace {

std::string host_of(const Address &address) {
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(address.get(), address.size, host.data(), host.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0)
    return {};
  return host.data();
}

}  // namespace

// A datagram socket finds its way without a packet.
std::string own_host(const Endpoint &to_reach) {
  for (const Address &address : tcp_addresses(to_reach, false)) {
    const Fd fd(socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    Address own;
    own.size = sizeof own.storage;
    if (fd && connect(fd.get(), address.get(), address.size) == 0 &&
        getsockname(fd.get(), reinterpret_cast<sockaddr *>(&own.storage), &own.size) == 0)
      return host_of(own);
  }
  throw Error(Code::unavailable, "joining a job: there is no way to '" + to_reach.text() +
                                     "'; check chief_ip or DET_CHIEF_IP, and the network");
}

std::string host_of_peer(const UnsharedFd &connection) {
  Address peer;
  peer.size = sizeof peer.storage;
  if (getpeername(connection.get(), reinterpret_cast<sockaddr *>(&peer.storage), &peer.size) != 0)
    OsFailure{errno}.raise("asking for the address of another machine");
  return host_of(peer);
}

int port_of(const UnsharedFd &listener) {
  Address address;
  address.size = sizeof address.storage;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address.storage), &address.size) !=
      0)
    OsFailure{errno}.raise("asking for the port of a socket");
  return ntohs(address.storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6 &>(address.storage).sin6_port
                   : reinterpret_cast<const sockaddr_in &>(address.storage).sin_port);
}

std::string name_of_peer(const UnsharedFd &connection, Endpoint::Kind kind) {
  Address address;
  address.size = sizeof address.storage;
  // Who has reset the connection has no address any more.
  if (kind == Endpoint::Kind::tcp)
    return getpeername(connection.get(), reinterpret_cast<sockaddr *>(&address.storage),
                       &address.size) == 0
               ? "a process at " + host_of(address)
               : "a process of another machine";
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid == 0)
    return "a process of this machine";
  return "process " + std::to_string(peer.pid);
}

bool is_own_peer(const UnsharedFd &connection, Endpoint::Kind kind) {
  if (kind == Endpoint::Kind::tcp) return true;
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

bool send_whole(const UnsharedFd &connection, const std::string &bytes) {
  return send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

}  // namespace det::comm
