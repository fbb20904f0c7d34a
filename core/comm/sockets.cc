#include "core/comm/sockets.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/comm/rendezvous.h"

namespace det {

namespace {

constexpr const char *this_machine = "127.0.0.1";

class SocketTransport : public Transport {
 public:
  SocketTransport(const Ranks &ranks, const SocketOptions &options, Patience &patience)
      : ranks_(ranks), force_tcp_(options.force_tcp), secret_(job_secret()) {
    const bool several_machines = ranks.local_size != ranks.size;
    if ((several_machines || force_tcp_) && secret_.empty())
      throw Error(Code::invalid,
                  "joining a job over TCP: there is no secret, and an open port would let anybody "
                  "in; set DET_DISTRIBUTED_SECRET to the same random value on all ranks");
    const Endpoint on_machine{
        Endpoint::Kind::unix_socket,
        "detcore/" + std::to_string(geteuid()) + "/" + std::to_string(options.port), 0};
    const Endpoint over_network{Endpoint::Kind::tcp,
                                several_machines ? options.chief_ip : this_machine, options.port,
                                several_machines};
    // Ranks on the chief's machine need no network.
    const bool near = !force_tcp_ && ranks.cross_rank == 0;
    if (ranks.rank == 0) {
      std::vector<Endpoint> endpoints;
      if (!force_tcp_) endpoints.push_back(on_machine);
      if (several_machines || force_tcp_) endpoints.push_back(over_network);
      std::vector<int> others(static_cast<size_t>(ranks.size - 1));
      std::iota(others.begin(), others.end(), 1);
      meet(Rendezvous(endpoints, secret_), Channel::global, others, patience);
    } else {
      apply(near ? on_machine : over_network, Channel::global, 0, patience);
    }
    if (ranks.local_rank == 0 && ranks.local_size > 1) open_door();
  }

  bool send(int peer, Channel channel, const FrameHead &head, std::string_view payload,
            Patience &patience) override {
    return stream(peer, channel).send(head, payload, patience);
  }
  bool receive_head(int peer, Channel channel, FrameHead &head, Patience &patience) override {
    return stream(peer, channel).receive_head(head, patience);
  }
  std::string receive_payload(int peer, Channel channel, const FrameHead &head,
                              Patience &patience) override {
    return stream(peer, channel).receive_payload(head, patience, *spare());
  }

  void check_peer(int peer) override {
    for (const Streams *streams : {&global_, &local_})
      if (!streams->empty() && (*streams)[static_cast<size_t>(peer)])
        (*streams)[static_cast<size_t>(peer)]->check_peer();
  }
  // Who asks for TCP gets TCP.
  bool shares_memory() const override { return !force_tcp_; }

  std::string local_address() override { return door_ ? address_ : ""; }

  void open_local(const std::vector<int> &members, const std::string &address,
                  Patience &patience) override {
    if (members.size() == 1) return door_.reset();
    if (door_) {
      meet(std::move(*door_), Channel::local, {members.begin() + 1, members.end()}, patience);
      door_.reset();
    } else {
      apply(parse_endpoint(address), Channel::local, members.front(), patience);
    }
  }

 private:
  using Streams = std::vector<std::unique_ptr<Stream>>;  // by rank; only a root's and its members'

  Stream &stream(int peer, Channel channel) {
    return *(channel == Channel::global ? global_ : local_)[static_cast<size_t>(peer)];
  }
  Hello hello(Channel channel) const { return {channel, ranks_.rank, ranks_.size}; }

  void keep(Fd fd, Channel channel, int peer) {
    Streams &streams = channel == Channel::global ? global_ : local_;
    streams.resize(static_cast<size_t>(ranks_.size));
    streams[static_cast<size_t>(peer)] =
        std::make_unique<Stream>(std::move(fd), "rank " + std::to_string(peer));
  }
  void meet(Rendezvous rendezvous, Channel channel, const std::vector<int> &members,
            Patience &patience) {
    std::vector<Fd> connections = rendezvous.gather(hello(channel), members, patience);
    for (size_t i = 0; i < members.size(); ++i)
      keep(std::move(connections[i]), channel, members[i]);
  }
  void apply(const Endpoint &endpoint, Channel channel, int root, Patience &patience) {
    keep(apply_at(endpoint, hello(channel), secret_, patience), channel, root);
  }

  // Where the ranks of this machine find their local chief.
  void open_door() {
    Endpoint endpoint{Endpoint::Kind::unix_socket, "detcore/" + make_uuid()};
    if (force_tcp_) endpoint = {Endpoint::Kind::tcp, this_machine};
    door_.emplace(std::vector{endpoint}, secret_);
    if (force_tcp_) endpoint.port = door_->port();
    address_ = endpoint.text();
  }

  const Ranks ranks_;
  const bool force_tcp_;
  const std::string secret_;
  Streams global_, local_;
  std::optional<Rendezvous> door_;
  std::string address_;
};

}  // namespace

std::unique_ptr<Transport> make_socket_transport(const Ranks &ranks, const SocketOptions &options,
                                                 Patience &patience) {
  return std::make_unique<SocketTransport>(ranks, options, patience);
}

}  // namespace det
