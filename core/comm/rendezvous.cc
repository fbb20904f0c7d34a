#include "core/comm/rendezvous.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "core/base/error.h"

namespace det {

namespace {

// A stranger who says nothing is sent away after this long, and no more than these wait at once.
constexpr std::chrono::seconds visit(5);
constexpr size_t most_visitors = 256;
constexpr std::chrono::milliseconds retry_pause(20);

// The few bytes of a handshake fit into the buffer of a fresh socket.
bool send_whole(const Fd &fd, const std::string &bytes) {
  return send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

// Reads until `size` bytes are there; false when the other side is gone or silent.
bool receive_whole(const Fd &fd, std::string &bytes, size_t size, Patience &patience) {
  bytes.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t got = recv(fd.get(), &bytes[done], size - done, 0);
    if (got > 0) {
      done += static_cast<size_t>(got);
      continue;
    }
    const bool may_come = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (!may_come || !wait_for(fd.get(), POLLIN, patience)) return false;
  }
  return true;
}

}  // namespace

Rendezvous::Rendezvous(const std::vector<Endpoint> &endpoints, std::string secret)
    : secret_(std::move(secret)) {
  for (const Endpoint &endpoint : endpoints) {
    for (Fd &fd : listen_at(endpoint)) {
      if (endpoint.kind == Endpoint::Kind::tcp && port_ == 0) port_ = port_of(fd);
      listeners_.push_back({std::move(fd), endpoint.kind});
    }
  }
}

void Rendezvous::let_in(const Listener &listener) {
  Fd fd(accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd || !is_own_peer(fd, listener.kind)) return;
  if (listener.kind == Endpoint::Kind::tcp) keep_alive(fd);
  // Those who belong to the job speak at once: the one that waits longest is none of them.
  if (visitors_.size() >= most_visitors) visitors_.erase(visitors_.begin());
  Visitor visitor{std::move(fd), make_challenge(), {}, Patience(visit)};
  visitor.patience.left();
  if (send_whole(visitor.fd, visitor.challenge)) visitors_.push_back(std::move(visitor));
}

// Takes what a visitor says; false when there is nothing more to hear from it.
bool Rendezvous::listen_to(Visitor &visitor) {
  char buffer[hello_size];
  const ssize_t got = recv(visitor.fd.get(), buffer, hello_size - visitor.received.size(), 0);
  if (got > 0) visitor.received.append(buffer, static_cast<size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

std::vector<Fd> Rendezvous::gather(const Hello &mine, const std::vector<int> &expected,
                                   Patience &patience) {
  std::vector<Fd> members(expected.size());
  size_t missing = expected.size();
  while (missing > 0) {
    std::vector<pollfd> waiting;
    for (const Listener &listener : listeners_) waiting.push_back({listener.fd.get(), POLLIN, 0});
    for (const Visitor &visitor : visitors_) waiting.push_back({visitor.fd.get(), POLLIN, 0});
    const auto left = patience.left();
    if (left.count() == 0) {
      std::string absent;
      for (size_t i = 0; i < expected.size(); ++i)
        if (!members[i]) absent += (absent.empty() ? "" : ", ") + std::to_string(expected[i]);
      throw Error(Code::timeout, "joining a job of " + std::to_string(mine.size) +
                                     " ranks: these did not come in time: " + absent +
                                     "; see whether they started");
    }
    const auto pause = std::min<int64_t>(left.count(), 1000);
    if (poll(waiting.data(), waiting.size(), static_cast<int>(pause)) < 0 && errno != EINTR)
      OsFailure{errno}.raise("waiting for the ranks of a job");

    std::vector<Visitor> staying;
    for (size_t i = 0; i < visitors_.size(); ++i) {
      Visitor &visitor = visitors_[i];
      const bool spoke = waiting[listeners_.size() + i].revents != 0;
      if (visitor.patience.left().count() == 0 || (spoke && !listen_to(visitor))) continue;
      if (visitor.received.size() < hello_size) {
        staying.push_back(std::move(visitor));
        continue;
      }
      const std::optional<Hello> hello = verify_hello(visitor.challenge, visitor.received, secret_);
      if (!hello || hello->channel != mine.channel) continue;
      const auto place = std::find(expected.begin(), expected.end(), hello->rank);
      if (hello->size != mine.size || place == expected.end())
        throw Error(Code::invalid, "joining a job of " + std::to_string(mine.size) +
                                       " ranks: a process came that is rank " +
                                       std::to_string(hello->rank) + " of " +
                                       std::to_string(hello->size) +
                                       "; check the numbers that the launcher gave it");
      Fd &member = members[static_cast<size_t>(place - expected.begin())];
      if (member)
        throw Error(Code::invalid, "joining a job: two processes are rank " +
                                       std::to_string(hello->rank) +
                                       "; check the numbers that the launcher gave them");
      if (!send_whole(visitor.fd, make_welcome(visitor.challenge, visitor.received, secret_)))
        continue;
      member = std::move(visitor.fd);
      --missing;
    }
    visitors_ = std::move(staying);
    for (size_t i = 0; i < listeners_.size(); ++i)
      if (waiting[i].revents != 0) let_in(listeners_[i]);
  }
  return members;
}

Fd apply_at(const Endpoint &endpoint, const Hello &mine, const std::string &secret,
            Patience &patience) {
  for (;;) {
    Fd fd = connect_to(endpoint, patience);
    if (!is_own_peer(fd, endpoint.kind))
      throw Error(Code::access, "joining a job: what listens at '" + endpoint.text() +
                                    "' belongs to another user; set another port (pub_port or "
                                    "INTER_TRAIN_PROCESS_COMM_PORT_1)");
    std::string challenge, welcome;
    // The chief of an earlier job may just have closed its door.
    if (!receive_whole(fd, challenge, challenge_size, patience)) {
      std::this_thread::sleep_for(retry_pause);
      if (patience.left().count() > 0) continue;
      throw Error(Code::timeout,
                  "joining a job: '" + endpoint.text() + "' takes connections but says nothing");
    }
    Applicant applicant(mine, secret);
    if (send_whole(fd, applicant.answer(challenge)))
      receive_whole(fd, welcome, welcome_size, patience);
    applicant.judge(welcome);
    return fd;
  }
}

}  // namespace det
