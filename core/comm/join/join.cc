#include "core/comm/join/join.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/comm/join/layout.h"
#include "core/comm/join/rendezvous.h"
#include "core/comm/joined.h"
#include "core/comm/stream.h"

namespace det::comm {

namespace {

// Whoever is gone or does not listen must not hold up the one who fails to join.
constexpr std::chrono::milliseconds for_a_last_word{100};
constexpr std::chrono::milliseconds to_tell_of_failure{30'000};

// The leader of the chief's machine is the chief itself.
bool is_leader(const Ranks &ranks) {
  return ranks.rank == 0 || (ranks.cross_rank != 0 && ranks.local_rank == 0);
}

struct SocketOptions {
  std::string chief_ip;  // needed when the job has several machines
  int port = 0;          // of the chief
  bool force_tcp = false;
};

// Where the ranks of a machine find its leader. So that machines may be simulated on one, each has
// an own name, or one of the addresses that all lead back to a machine.
Endpoint door_within(int machine, const SocketOptions &options) {
  if (!options.force_tcp)
    return {Endpoint::Kind::unix_socket, "detcore/" + std::to_string(geteuid()) + "/" +
                                             std::to_string(options.port) +
                                             (machine == 0 ? "" : "/" + std::to_string(machine))};
  const in_addr address{htonl(INADDR_LOOPBACK + static_cast<in_addr_t>(machine))};
  return {Endpoint::Kind::tcp, inet_ntoa(address), options.port};
}

// Unix sockets within a machine, TCP between machines. Connects every rank with the leader of its
// machine, and the leaders with the chief, through each other where they are many.
class SocketTransport : public Transport {
 public:
  SocketTransport(const Ranks &ranks, const SocketOptions &options, Patience &patience)
      : ranks_(ranks), options_(options), secret_(job_secret()) {
    if (is_leader(ranks)) {
      lead(patience);
    } else {
      check_secret();
      apply(near(), 0, patience);
    }
  }

  bool send(int peer, Channel /*channel*/, const FrameHead &head, std::string_view payload,
            Patience &patience) override {
    return streams_.at(peer).send(head, payload, patience);
  }
  bool receive_head(int peer, Channel channel, FrameHead &head, Patience &patience) override {
    return streams_.at(peer).receive_head(channel, head, patience);
  }
  std::string receive_payload(int peer, Channel channel, const FrameHead & /*head*/,
                              Patience &patience) override {
    return streams_.at(peer).receive_payload(channel, patience);
  }

  void check_peer(int peer) override {
    if (const auto stream = streams_.find(peer); stream != streams_.end())
      stream->second.check_peer();
  }
  // Who asks for TCP gets TCP.
  bool shares_memory() const override { return !options_.force_tcp; }

  // In a machine all go through its leader, also where its first rank is another one.
  Branch branch(Channel channel, const std::vector<int> &members, int rank) const override {
    if (channel == Channel::global) return {parent_, children_};
    const int root = members.front();
    const int leader = is_leader(ranks_) ? rank : *parent_;
    if (rank != leader) return rank == root ? Branch{{}, {leader}} : Branch{leader, {}};
    Branch branch{root, members};
    std::erase(branch.children, root);
    std::erase(branch.children, rank);
    if (rank == root) branch.parent.reset();
    return branch;
  }

 private:
  bool has_others() const { return ranks_.local_size != ranks_.size; }

  Endpoint chief_from_afar() const {
    return {Endpoint::Kind::tcp, options_.chief_ip, options_.port, true};
  }
  void check_secret() const {
    if ((has_others() || options_.force_tcp) && secret_.empty())
      throw Error(Code::invalid,
                  "joining a job over TCP: there is no secret, and an open port would let anybody "
                  "in; set DET_DISTRIBUTED_SECRET to the same random value on all ranks");
  }
  Endpoint near() const {
    const bool at_chief = ranks_.cross_rank == 0 && options_.force_tcp && has_others();
    return at_chief ? chief_from_afar() : door_within(ranks_.cross_rank, options_);
  }

  // A leader that fails has others who wait for it, above and below: the doors that it can open are
  // for telling them.
  void lead(Patience &patience) {
    Rendezvous door(secret_);
    std::optional<Error> closed;
    const auto or_closed = [&](const auto &work) {
      try {
        work();
      } catch (const Error &e) {
        if (!closed) closed = e;
      }
    };
    if (ranks_.local_size > 1) or_closed([&] { door.open(near()); });
    or_closed([&] { open_from_afar(door); });
    or_closed([&] { check_secret(); });
    int number = 0;
    if (ranks_.rank != 0) {
      Patience brief(std::min(patience.left(), to_tell_of_failure));
      or_closed([&] { number = apply(chief_from_afar(), door.port(), closed ? brief : patience); });
    }
    if (!closed) return gather(std::move(door), number, patience);
    if (parent_) tell_parent(*closed);
    door.refuse(*closed);
    throw Error(*closed);
  }
  void open_from_afar(Rendezvous &door) const {
    const bool is_open = ranks_.local_size > 1 && options_.force_tcp;  // by near()
    if (ranks_.rank == 0 && has_others() && !is_open) door.open(chief_from_afar());
    if (ranks_.rank != 0 && ranks_.cross_size - 1 > fan_out)
      door.open({Endpoint::Kind::tcp, own_host(chief_from_afar()), 0, true});
  }

  void gather(Rendezvous door, int number, Patience &patience) try {
    const int machines =
        number == 0 ? ranks_.cross_size - 1 : children_of(number, ranks_.cross_size);
    for (Rendezvous::Member &member : door.gather(ranks_, machines, patience)) {
      keep(member.rank, std::move(member.connection));
      children_.push_back(member.rank);
    }
  } catch (const Error &e) {
    if (parent_) tell_parent(e);
    door.refuse(e);
    throw;
  }
  // The number of this machine.
  int apply(const Endpoint &endpoint, int door, Patience &patience) {
    Admission admission = apply_at(endpoint, {ranks_, door}, secret_, patience);
    parent_ = admission.welcome.rank;
    keep(*parent_, std::move(admission.connection));
    return admission.welcome.number;
  }
  void keep(int peer, UnsharedFd connection) {
    streams_.try_emplace(peer, std::move(connection), "rank " + std::to_string(peer), spare());
  }

  void tell_parent(const Error &error) noexcept try {
    FrameHead head;
    head.kind = FrameKind::abort;
    head.code = static_cast<int8_t>(error.code);
    const std::string text = error.what();
    head.size = text.size();
    Patience brief(for_a_last_word);
    streams_.at(*parent_).send(head, text, brief);
  } catch (const std::exception &) {
    return;
  }

  const Ranks ranks_;
  const SocketOptions options_;
  const std::string secret_;
  std::map<int, Stream> streams_;  // by the rank at the other end
  std::optional<int> parent_;      // in the tree of all ranks
  std::vector<int> children_;
};

constexpr int usual_port = 12360;

int port_of(const JoinOptions &options) {
  constexpr const char *variable = "INTER_TRAIN_PROCESS_COMM_PORT_1";
  const int64_t first =
      options.port != 0 ? options.port : environment_integer(variable).value_or(usual_port);
  const int64_t port = first + options.port_offset;
  if (first < 1 || first > 65535 || port < 1 || port > 65535)
    throw Error(Code::invalid, "joining a job: port " + std::to_string(first) +
                                   " and port_offset " + std::to_string(options.port_offset) +
                                   " give " + std::to_string(port) +
                                   "; a port is 1 to 65535 (pub_port or " + variable + ")");
  return static_cast<int>(port);
}

}  // namespace

std::unique_ptr<Communicator> join(const Launch &launch, const JoinOptions &options) {
  const Ranks &ranks = launch.ranks;
  check_ranks(ranks);
  if (ranks.size == 1) return make_single_communicator();
  if (ranks.local_size != ranks.size && launch.chief_ip.empty())
    throw Error(Code::invalid,
                "joining a job of several machines: the address of rank 0 is not "
                "known; set chief_ip or DET_CHIEF_IP");
  const auto timeout = options.timeout.count() > 0 ? options.timeout : default_join_timeout();
  Patience patience(timeout);
  return make_joined_communicator(
      ranks,
      std::make_unique<SocketTransport>(
          ranks, SocketOptions{launch.chief_ip, port_of(options), options.force_tcp}, patience),
      timeout);
}

}  // namespace det::comm
