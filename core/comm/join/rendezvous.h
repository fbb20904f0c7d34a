// Brings a leader and those next to it together: the leader listens, the others come and prove that
// they belong to the job. They are the ranks of its machine, and the leaders of other machines; of
// those that are too many for one, the later ones are sent to the earlier ones.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/comm/join/endpoint.h"
#include "core/comm/join/handshake.h"
#include "core/comm/stream.h"

namespace det::comm {

// Accepts strangers only as far as their first message; closes its sockets when it ends.
class Rendezvous {
 public:
  explicit Rendezvous(std::string secret) : secret_(std::move(secret)) {}
  void open(const Endpoint &endpoint);

  // Where other machines come, if they do.
  int port() const { return port_; }

  struct Member {
    int rank;
    UnsharedFd connection;
  };
  // Waits for all other ranks of this machine, and so many machines; gives those that stay, by
  // rank. What goes wrong is told to those; to others, by refuse(). Who was turned away is named
  // when others did not come.
  std::vector<Member> gather(const Ranks &mine, int machines, Patience &patience);

  // Tells those who knock, for a moment, why nobody will let them in.
  void refuse(const Error &error);

 private:
  struct Listener {
    UnsharedFd fd;
    Endpoint::Kind kind;
  };
  struct Visitor {
    UnsharedFd fd;
    Endpoint::Kind kind;
    std::string challenge;
    std::string received;
    Patience patience;
    bool is_gone = false;
  };
  struct Arrival {
    int rank;
    int number;  // of its machine; 0 of this one
  };
  bool is_full();
  void wait_for_visitors(Patience &patience);
  void let_in(const Listener &listener);
  bool listen_to(Visitor &visitor);
  void judge(Visitor &visitor);
  void turn_away(const Visitor &visitor);
  void note_turned_away(const std::string &who);
  void check(const Ranks &theirs, bool comes_again) const;
  int forget_the_dead(const Ranks &theirs);
  void seat(Visitor &visitor, const Hello &hello);
  bool send_on(const Visitor &visitor, int number) const;
  size_t missing() const;
  [[noreturn]] void miss() const;
  void tell_members(const Error &error) const;

  const std::string secret_;
  std::vector<Listener> listeners_;
  std::vector<Visitor> visitors_;
  int port_ = 0;

  // Of the job that is being gathered.
  Ranks mine_;
  int machines_ = 0;
  std::map<std::pair<int, int>, Arrival> came_;  // by machine and local rank
  std::set<int> ranks_;                          // of those
  std::vector<Endpoint> doors_;                  // of the machines that came, by number
  std::vector<Member> members_;
  std::map<std::string, int> turned_away_;  // and why; how often
};

struct Admission {
  UnsharedFd connection;
  Welcome welcome;
};
// Goes where it is sent. Throws Code::access when who listens is not of this job.
Admission apply_at(Endpoint endpoint, const Hello &mine, const std::string &secret,
                   Patience &patience);

}  // namespace det::comm
