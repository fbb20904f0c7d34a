#include "wrappers/cli/trial/trial_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/uuid.h"
#include "wrappers/cli/exit_code.h"

namespace det::cli {

namespace {

constexpr size_t longest_message = 1 << 20;

struct SocketAddress {
  sockaddr_un name{};
  socklen_t size = 0;
  const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&name); }
};

// In Linux's abstract namespace: a holder that is killed leaves nothing behind.
SocketAddress address_of(const std::string &name) {
  SocketAddress address;
  address.name.sun_family = AF_UNIX;
  const size_t size = std::min(name.size(), sizeof address.name.sun_path - 1);
  std::memcpy(&address.name.sun_path[1], name.data(), size);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return address;
}

// Every user of the machine can connect to such a name, and listen at one.
bool is_of_this_user(const Fd &connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

Fd connect_to_holder() {
  const char *name = std::getenv(trial_socket_variable);
  if (!name || !*name)
    throw Failure(ExitCode::state,
                  "this command works only in the script of a trial; start the script with 'det "
                  "trial -- SCRIPT'");
  const SocketAddress address = address_of(name);
  Fd connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection || connect(connection.get(), address.get(), address.size) != 0 ||
      !is_of_this_user(connection))
    throw Failure(ExitCode::unavailable,
                  "the 'det trial' that started this script has ended, and its trial with it");
  return connection;
}

}  // namespace

TrialListener::TrialListener()
    : name_("det-trial-" + make_uuid()),
      socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const SocketAddress address = address_of(name_);
  if (!socket_ || bind(socket_.get(), address.get(), address.size) != 0 ||
      listen(socket_.get(), SOMAXCONN) != 0)
    OsFailure{errno}.raise("listening for the commands of a script");
}

Fd TrialListener::accept() const {
  Fd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return connection && is_of_this_user(connection) ? std::move(connection) : Fd();
}

Json receive(const Fd &connection) {
  std::string bytes;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t size = recv(connection.get(), block.data(), block.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 || bytes.size() > longest_message) return {};
    if (size == 0) break;
    bytes.append(block.data(), static_cast<size_t>(size));
  }
  try {
    return unpack(bytes, "a message between det and its script");
  } catch (const Error &) {
    return {};
  }
}

void send_last(const Fd &connection, const Json &message) {
  const std::string bytes = pack(message);
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t size =
        send(connection.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    sent += static_cast<size_t>(size);
  }
  shutdown(connection.get(), SHUT_WR);
}

Json ask_trial(const Json &request) {
  const Fd holder = connect_to_holder();
  send_last(holder, request);
  const Json answer = receive(holder);
  if (answer.is_null())
    throw Failure(ExitCode::unavailable,
                  "the 'det trial' that started this script ended without an answer; it may have "
                  "done the request");
  const auto code =
      static_cast<ExitCode>(answer.value("exit", static_cast<int>(ExitCode::internal)));
  if (code == ExitCode::ok) return answer;
  if (answer.contains("message")) throw Failure(code, answer.at("message").get<std::string>());
  throw Ended{code};
}

}  // namespace det::cli
