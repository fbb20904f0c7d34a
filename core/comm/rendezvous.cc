#include "core/comm/rendezvous.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/comm/frame.h"

namespace det {

namespace {

// A stranger who says nothing is sent away after this long, and no more than these wait beside the
// ranks that are still missing. A rank that was taken for one, because it was stopped, comes again.
constexpr std::chrono::seconds visit(5);
constexpr size_t most_strangers = 64;
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

// Takes those who knock now.
void Rendezvous::let_in(const Listener &listener) {
  for (;;) {
    Fd fd(accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      const int reason = errno;
      if (reason != EMFILE && reason != ENFILE && reason != ENOMEM && reason != ENOBUFS) return;
      OsFailure{reason}.raise("joining a job of " + std::to_string(mine_.size) +
                              " ranks: letting in one more beside " +
                              std::to_string(expected_.size() - missing_) + " that came");
    }
    if (!is_own_peer(fd, listener.kind)) continue;
    if (listener.kind == Endpoint::Kind::tcp) keep_alive(fd);
    // Those who belong to the job speak at once: the one that waits longest is none of them.
    if (visitors_.size() >= missing_ + most_strangers) visitors_.erase(visitors_.begin());
    Visitor visitor{std::move(fd), make_challenge(), {}, Patience(visit)};
    visitor.patience.left();
    if (send_whole(visitor.fd, visitor.challenge)) visitors_.push_back(std::move(visitor));
  }
}

// Takes what a visitor says; true when it has said all.
bool Rendezvous::listen_to(Visitor &visitor) {
  char buffer[hello_size];
  const ssize_t got = recv(visitor.fd.get(), buffer, hello_size - visitor.received.size(), 0);
  if (got > 0) visitor.received.append(buffer, static_cast<size_t>(got));
  visitor.is_gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  return visitor.received.size() == hello_size;
}

// Where a rank belongs. Throws for one that cannot be.
size_t Rendezvous::place_of(const Hello &hello) const {
  const auto place = std::ranges::find(expected_, hello.rank);
  const std::string rank = std::to_string(hello.rank);
  if (hello.size != mine_.size || place == expected_.end())
    throw Error(Code::invalid, "joining a job of " + std::to_string(mine_.size) +
                                   " ranks: a process came that is rank " + rank + " of " +
                                   std::to_string(hello.size) +
                                   "; check the numbers that the launcher gave it");
  const auto at = static_cast<size_t>(place - expected_.begin());
  if (members_[at])
    throw Error(Code::invalid, "joining a job: two processes are rank " + rank +
                                   "; check the numbers that the launcher gave them");
  return at;
}

// Makes a visitor that has said who it is a member, or sends it away.
void Rendezvous::judge(Visitor &visitor) {
  const std::optional<Hello> hello = verify_hello(visitor.challenge, visitor.received, secret_);
  if (!hello) {
    send_whole(visitor.fd,
               make_refusal(Error(Code::access,
                                  "joining a job: the chief did not accept this process, which "
                                  "does not know the secret of the job; give all ranks the same "
                                  "DET_DISTRIBUTED_SECRET")));
    return;
  }
  if (hello->channel != mine_.channel) return;
  try {
    const size_t place = place_of(*hello);
    if (!send_whole(visitor.fd, make_welcome(visitor.challenge, visitor.received, secret_))) return;
    members_[place] = std::move(visitor.fd);
    --missing_;
  } catch (const Error &e) {
    send_whole(visitor.fd, make_refusal(e));
    throw;
  }
}

void Rendezvous::wait_for_visitors(Patience &patience) {
  std::vector<pollfd> waiting;
  for (const Listener &listener : listeners_) waiting.push_back({listener.fd.get(), POLLIN, 0});
  for (const Visitor &visitor : visitors_) waiting.push_back({visitor.fd.get(), POLLIN, 0});
  const auto pause = std::min<int64_t>(patience.left().count(), 1000);
  if (poll(waiting.data(), waiting.size(), static_cast<int>(pause)) < 0 && errno != EINTR)
    OsFailure{errno}.raise("waiting for the ranks of a job");

  std::vector<Visitor> before = std::exchange(visitors_, {});
  for (size_t i = 0; i < before.size(); ++i) {
    Visitor &visitor = before[i];
    const bool spoke = waiting[listeners_.size() + i].revents != 0;
    if (spoke && listen_to(visitor)) judge(visitor);
    else if (!visitor.is_gone && visitor.patience.left().count() > 0)
      visitors_.push_back(std::move(visitor));
  }
  for (size_t i = 0; i < listeners_.size(); ++i)
    if (waiting[i].revents != 0) let_in(listeners_[i]);
}

void Rendezvous::miss() const {
  std::string absent;
  for (size_t i = 0; i < expected_.size(); ++i)
    if (!members_[i]) absent += (absent.empty() ? "" : ", ") + std::to_string(expected_[i]);
  throw Error(Code::timeout, "joining a job of " + std::to_string(mine_.size) +
                                 " ranks: these did not come in time: " + absent +
                                 "; see whether they started");
}

// Members wait for the first frame of the job, visitors to be welcomed.
void Rendezvous::tell(const Error &error) const {
  FrameHead head;
  head.kind = FrameKind::abort;
  head.code = static_cast<int8_t>(error.code);
  const std::string text = error.what();
  head.size = text.size();
  std::string frame(frame_head_size, '\0');
  encode_head(head, frame.data());
  for (const Fd &member : members_)
    if (member) send_whole(member, frame + text);
  for (const Visitor &visitor : visitors_) send_whole(visitor.fd, make_refusal(error));
}

std::vector<Fd> Rendezvous::gather(const Hello &mine, std::vector<int> expected,
                                   Patience &patience) {
  mine_ = mine;
  expected_ = std::move(expected);
  members_.resize(expected_.size());
  missing_ = expected_.size();
  try {
    while (missing_ > 0) {
      if (patience.left().count() == 0) miss();
      wait_for_visitors(patience);
    }
  } catch (const Error &e) {
    tell(e);
    throw;
  }
  return std::move(members_);
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
    // The chief of an earlier job may just have closed its door, or this one may have taken a rank
    // that was stopped for a stranger.
    Applicant applicant(mine, secret);
    const bool challenged = receive_whole(fd, challenge, challenge_size, patience);
    // A refusal may be here although nobody takes the answer any more.
    if (challenged) send_whole(fd, applicant.answer(challenge));
    if (challenged && receive_whole(fd, welcome, welcome_size, patience)) {
      if (const std::optional<size_t> size = Applicant::text_of_refusal(welcome)) {
        std::string text;
        receive_whole(fd, text, *size, patience);
        throw Applicant::refused(welcome, text);
      }
      applicant.judge(welcome);
      return fd;
    }
    std::this_thread::sleep_for(retry_pause);
    if (patience.left().count() == 0)
      throw Error(Code::timeout, "joining a job: '" + endpoint.text() +
                                     "' takes connections but does not say in time whether this "
                                     "process belongs to the job; see what rank 0 is doing");
  }
}

}  // namespace det
