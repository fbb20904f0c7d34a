#include "core/comm/join/rendezvous.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/comm/frame.h"
#include "core/comm/join/layout.h"

namespace det::comm {

namespace {

// A stranger who says nothing is sent away after this long, or where too many wait inside, after a
// moment. A rank that was taken for one, because it was stopped, comes again.
constexpr std::chrono::milliseconds visit(5000), moment(500);
constexpr size_t most_visitors = 128;
// Whoever found the door closed knocks again within a tenth of a second.
constexpr int times_to_refuse = 15;
constexpr std::chrono::milliseconds between_refusals(20);

}  // namespace

void Rendezvous::open(const Endpoint &endpoint) {
  for (UnsharedFd &fd : listen_at(endpoint)) {
    if (endpoint.from_afar && port_ == 0) port_ = port_of(fd);
    listeners_.push_back({std::move(fd), endpoint.kind});
  }
}

// Those who belong to the job speak at once: the one that waits longest is none of them, if it has
// waited for a moment.
bool Rendezvous::is_full() {
  if (visitors_.size() < most_visitors) return false;
  if (visitors_.front().patience.left() > visit - moment) return true;
  visitors_.erase(visitors_.begin());
  return false;
}

// Takes those who knock now.
void Rendezvous::let_in(const Listener &listener) {
  while (!is_full()) {
    UnsharedFd fd = UnsharedFd::made_by([&] {
      return Fd(accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    });
    if (!fd) {
      const int reason = errno;
      if (reason != EMFILE && reason != ENFILE && reason != ENOMEM && reason != ENOBUFS) return;
      OsFailure{reason}.raise("joining a job of " + std::to_string(mine_.size) +
                              " ranks: letting in one more beside " +
                              std::to_string(members_.size()) + " that came");
    }
    if (!is_own_peer(fd, listener.kind)) {
      note_turned_away(name_of_peer(fd, listener.kind) + " of another user");
      continue;
    }
    if (listener.kind == Endpoint::Kind::tcp) keep_alive(fd);
    Visitor visitor{std::move(fd), listener.kind, make_challenge(), {}, Patience(visit)};
    visitor.patience.left();
    if (send_whole(visitor.fd, visitor.challenge)) visitors_.push_back(std::move(visitor));
  }
}

// Takes what a visitor says; true when it has said all, or what is no answer.
bool Rendezvous::listen_to(Visitor &visitor) {
  char buffer[hello_size];
  const ssize_t got = recv(visitor.fd.get(), buffer, hello_size - visitor.received.size(), 0);
  if (got > 0) visitor.received.append(buffer, static_cast<size_t>(got));
  visitor.is_gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  return visitor.received.size() == hello_size || !is_of_this_release(visitor.received);
}

// A secret that is not known proves nothing, not even the number that comes with it.
void Rendezvous::turn_away(const Visitor &visitor) {
  const std::string who = name_of_peer(visitor.fd, visitor.kind);
  const std::optional<Hello> hello = read_hello(visitor.received);
  if (visitor.received.empty()) {
    note_turned_away(who + ", which did not answer");
  } else if (!hello) {
    note_turned_away(who + ", which is no detcore of this release");
    send_whole(visitor.fd, make_refusal(Error(Code::access,
                                              "joining a job: the chief is a detcore of another "
                                              "release; give all ranks the same")));
  } else {
    note_turned_away(who + ", which says that it is rank " + std::to_string(hello->ranks.rank) +
                     " and does not know the secret of the job (DET_DISTRIBUTED_SECRET)");
    send_whole(visitor.fd,
               make_refusal(Error(Code::access,
                                  "joining a job: the chief did not accept this process, which "
                                  "does not know the secret of the job; give all ranks the same "
                                  "DET_DISTRIBUTED_SECRET")));
  }
}

void Rendezvous::note_turned_away(const std::string &who) {
  constexpr size_t most_named = 8;
  if (turned_away_.size() < most_named || turned_away_.contains(who)) ++turned_away_[who];
}

// Throws for a rank that cannot be, or not here.
void Rendezvous::check(const Ranks &theirs, bool comes_again) const {
  const bool is_here = theirs.cross_rank == mine_.cross_rank;
  const bool is_leader = !is_here && theirs.local_rank == 0;
  if (theirs.size != mine_.size || theirs.rank < 0 || theirs.rank >= mine_.size ||
      !(is_here || (is_leader && (comes_again || doors_.size() < static_cast<size_t>(machines_)))))
    throw Error(Code::invalid,
                "joining a job of " + std::to_string(mine_.size) +
                    " ranks: a process came that is rank " + std::to_string(theirs.rank) + " of " +
                    std::to_string(theirs.size) + "; check the numbers that the launcher gave it");
  check_ranks(theirs);
  if (theirs.rank == mine_.rank || ranks_.contains(theirs.rank))
    throw Error(Code::invalid, "joining a job: two processes are rank " +
                                   std::to_string(theirs.rank) +
                                   "; check the numbers that the launcher gave them");
  compare(mine_, theirs);
  const auto seated = came_.find({theirs.cross_rank, theirs.local_rank});
  if (seated == came_.end()) return;
  Ranks other = theirs;
  other.rank = seated->second.rank;
  compare(other, theirs);
}

// A rank that died while it joined may come again. The number of its machine then; else -1.
int Rendezvous::forget_the_dead(const Ranks &theirs) {
  const auto member = std::ranges::find(members_, theirs.rank, &Member::rank);
  const auto before = came_.find({theirs.cross_rank, theirs.local_rank});
  if (member == members_.end() || before == came_.end() || before->second.rank != theirs.rank)
    return -1;
  pollfd connection{member->connection.get(), POLLRDHUP, 0};
  if (poll(&connection, 1, 0) <= 0) return -1;
  const int number = before->second.number;
  members_.erase(member);
  came_.erase(before);
  ranks_.erase(theirs.rank);
  return number;
}

// A rank of this machine, or the leader of another one, stays, or is told where to go. That may be
// told twice.
void Rendezvous::seat(Visitor &visitor, const Hello &hello) {
  const Ranks &theirs = hello.ranks;
  const std::pair place(theirs.cross_rank, theirs.local_rank);
  const auto before = came_.find(place);
  if (before != came_.end() && before->second.number > fan_out &&
      before->second.rank == theirs.rank) {
    send_on(visitor, before->second.number);
    return;
  }
  const int known = forget_the_dead(theirs);
  check(theirs, known >= 0);
  const bool is_here = theirs.cross_rank == mine_.cross_rank;
  const int next = is_here ? 0 : static_cast<int>(doors_.size()) + 1;
  const int number = known >= 0 ? known : next;
  const bool stays = number <= fan_out;
  const std::string welcome =
      make_welcome(visitor.challenge, visitor.received, secret_, {mine_.rank, number});
  const std::string host = is_here ? "" : host_of_peer(visitor.fd);
  if (!(stays ? send_whole(visitor.fd, welcome) : send_on(visitor, number))) return;
  came_.insert({place, {theirs.rank, number}});
  ranks_.insert(theirs.rank);
  if (!is_here) {
    doors_.resize(std::max(doors_.size(), static_cast<size_t>(number)));
    doors_[static_cast<size_t>(number) - 1] = {Endpoint::Kind::tcp, host, hello.door, true};
  }
  if (stays) members_.push_back({theirs.rank, std::move(visitor.fd)});
}

bool Rendezvous::send_on(const Visitor &visitor, int number) const {
  const Endpoint &parent = doors_[static_cast<size_t>(parent_of(number)) - 1];
  return send_whole(visitor.fd, make_directions(number, parent.text()));
}

// Makes a visitor that has said who it is a member, or sends it away.
void Rendezvous::judge(Visitor &visitor) {
  const std::optional<Hello> hello = verify_hello(visitor.challenge, visitor.received, secret_);
  if (!hello) return turn_away(visitor);
  try {
    seat(visitor, *hello);
  } catch (const Error &e) {
    send_whole(visitor.fd, make_refusal(e));
    throw;
  }
}

void Rendezvous::wait_for_visitors(Patience &patience) {
  std::vector<pollfd> waiting;
  const bool full = is_full();
  for (const Listener &listener : listeners_)
    waiting.push_back({full ? -1 : listener.fd.get(), POLLIN, 0});
  for (const Visitor &visitor : visitors_) waiting.push_back({visitor.fd.get(), POLLIN, 0});
  const auto pause = std::min(patience.left(), moment).count();
  if (poll(waiting.data(), waiting.size(), static_cast<int>(pause)) < 0 && errno != EINTR)
    OsFailure{errno}.raise("waiting for the ranks of a job");

  std::vector<Visitor> before = std::exchange(visitors_, {});
  for (size_t i = 0; i < before.size(); ++i) {
    Visitor &visitor = before[i];
    const bool spoke = waiting[listeners_.size() + i].revents != 0;
    if (spoke && listen_to(visitor)) judge(visitor);
    else if (!visitor.is_gone && visitor.patience.left().count() > 0)
      visitors_.push_back(std::move(visitor));
    else turn_away(visitor);
  }
  for (size_t i = 0; i < listeners_.size(); ++i)
    if (waiting[i].revents != 0) let_in(listeners_[i]);
}

size_t Rendezvous::missing() const {
  return static_cast<size_t>(mine_.local_size - 1 + machines_) - came_.size();
}

// The chief knows all machines, another leader only how many are to come to it.
void Rendezvous::miss() const {
  const auto note = [](std::string &list, int number) {
    list += (list.empty() ? "" : ", ") + std::to_string(number);
  };
  std::string here, machines;
  for (int i = 0; i < mine_.local_size; ++i)
    if (i != mine_.local_rank && !came_.contains({mine_.cross_rank, i})) note(here, i);
  const bool knows_all = machines_ == mine_.cross_size - 1;
  for (int i = 0; knows_all && i < mine_.cross_size; ++i)
    if (i != mine_.cross_rank && !came_.contains({i, 0})) note(machines, i);
  std::string absent;
  if (!here.empty())
    absent = "local ranks " + here + " of machine " + std::to_string(mine_.cross_rank);
  if (!machines.empty()) absent += (absent.empty() ? "" : ", and ") + ("machines " + machines);
  if (const size_t known = doors_.size(); !knows_all && known < static_cast<size_t>(machines_))
    absent += (absent.empty() ? "" : ", and ") +
              std::to_string(static_cast<size_t>(machines_) - known) +
              " of the machines that are sent to this one";
  std::string away;
  for (const auto &[who, times] : turned_away_)
    away += (away.empty() ? "; turned away meanwhile: " : "; ") + who +
            (times > 1 ? ", " + std::to_string(times) + " times" : "");
  throw Error(Code::timeout, "joining a job of " + std::to_string(mine_.size) +
                                 " ranks: these did not come in time: " + absent +
                                 (away.empty() ? "; see whether they started" : away));
}

// They wait for the first frame of the job.
void Rendezvous::tell_members(const Error &error) const {
  FrameHead head;
  head.kind = FrameKind::abort;
  head.code = static_cast<int8_t>(error.code);
  const std::string text = error.what();
  head.size = text.size();
  std::string frame(frame_head_size, '\0');
  encode_head(head, frame.data());
  for (const Member &member : members_) send_whole(member.connection, frame + text);
}

void Rendezvous::refuse(const Error &error) {
  std::vector<Visitor> told;
  for (int times = 0; times < times_to_refuse; ++times) {
    try {
      for (const Listener &listener : listeners_) let_in(listener);
    } catch (const Error &) {  // no room for more of them
    }
    for (Visitor &visitor : visitors_) {
      send_whole(visitor.fd, make_refusal(error));
      told.push_back(std::move(visitor));
    }
    visitors_.clear();
    std::this_thread::sleep_for(between_refusals);
  }
}

std::vector<Rendezvous::Member> Rendezvous::gather(const Ranks &mine, int machines,
                                                   Patience &patience) {
  mine_ = mine;
  machines_ = machines;
  try {
    while (missing() > 0) {
      if (patience.left().count() == 0) miss();
      wait_for_visitors(patience);
    }
  } catch (const Error &e) {
    tell_members(e);
    throw;
  }
  std::ranges::sort(members_, {}, &Member::rank);
  return std::move(members_);
}

namespace {

constexpr std::chrono::milliseconds retry_pause(20);

// Reads until `size` bytes are there; false when the other side is gone or silent.
bool receive_whole(const UnsharedFd &fd, std::string &bytes, size_t size, Patience &patience) {
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

Admission apply_at(Endpoint endpoint, const Hello &mine, const std::string &secret,
                   Patience &patience) {
  for (int number = 0;;) {
    UnsharedFd fd = connect_to(endpoint, patience);
    if (!is_own_peer(fd, endpoint.kind))
      throw Error(Code::access, "joining a job: what listens at '" + endpoint.text() +
                                    "' belongs to another user; set another port (pub_port or "
                                    "INTER_TRAIN_PROCESS_COMM_PORT_1)");
    std::string challenge, reply;
    // The chief of an earlier job may just have closed its door, or this one may have taken a rank
    // that was stopped for a stranger.
    Applicant applicant(mine, secret);
    const bool challenged = receive_whole(fd, challenge, challenge_size, patience);
    // A refusal may be here although nobody takes the answer any more.
    if (challenged) send_whole(fd, applicant.answer(challenge));
    if (challenged && receive_whole(fd, reply, welcome_size, patience)) {
      const std::optional<Notice> notice = read_notice(reply);
      if (!notice) {
        const Welcome welcome = applicant.judge(reply);
        return {std::move(fd), {welcome.rank, number == 0 ? welcome.number : number}};
      }
      std::string text;
      const bool is_whole = receive_whole(fd, text, notice->text_size, patience);
      if (notice->is_refusal) throw Error(code_from(notice->number), text);
      if (is_whole) {
        endpoint = parse_endpoint(text);
        number = notice->number;
        continue;
      }
    }
    std::this_thread::sleep_for(retry_pause);
    if (patience.left().count() == 0)
      throw Error(Code::timeout, "joining a job: '" + endpoint.text() +
                                     "' takes connections but does not say in time whether this "
                                     "process belongs to the job; see what rank 0 is doing");
  }
}

}  // namespace det::comm
