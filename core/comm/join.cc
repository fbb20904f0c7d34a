#include "core/comm/join.h"

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/comm/joined.h"
#include "core/comm/sockets.h"

namespace det::comm {

namespace {

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
      make_socket_transport(ranks, {launch.chief_ip, port_of(options), options.force_tcp},
                            patience),
      timeout);
}

}  // namespace det::comm
