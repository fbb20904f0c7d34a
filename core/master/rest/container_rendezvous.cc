#include "core/master/rest/container_rendezvous.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <sstream>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/base/process/process.h"
#include "core/base/uuid.h"
#include "core/codec/container.h"

namespace det::master {

namespace {

// The others may be waiting for free machines.
constexpr CallOptions patient{.replay = http::Replay::safe,
                              .timeout = std::chrono::milliseconds(0)};

std::string required(const char *name) {
  std::string value = environment_variable(name);
  if (value.empty())
    throw Error(Code::invalid, std::string("meeting the other containers: the variable ") + name +
                                   " is not set; the cluster sets it");
  return value;
}

std::string text_of(const sockaddr *address) {
  std::array<char, NI_MAXHOST> text{};
  const socklen_t size =
      address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  return getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0
             ? text.data()
             : "";
}

// Of one of these network interfaces (separated by commas), else of the host's name.
std::string own_address(const std::string &interfaces) {
  ifaddrs *list = nullptr;
  if (getifaddrs(&list) != 0) OsFailure{errno}.raise("listing the network interfaces");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs *)> owner(list, freeifaddrs);
  std::istringstream names(interfaces);
  for (std::string name; std::getline(names, name, ',');)
    for (const ifaddrs *at = list; at != nullptr; at = at->ifa_next)
      if (name == at->ifa_name && at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET)
        return text_of(at->ifa_addr);

  const std::string host = host_name();
  addrinfo hints{};
  hints.ai_family = AF_INET;
  addrinfo *found = nullptr;
  if (const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &found); failed != 0)
    throw Error(Code::unavailable, std::string("looking up this host's name '") + host +
                                       "': " + gai_strerror(failed) +
                                       "; name a network interface in DET_SLURM_RENDEZVOUS_IFACE");
  const std::unique_ptr<addrinfo, void (*)(addrinfo *)> addresses(found, freeaddrinfo);
  return text_of(found->ai_addr);
}

void fill(config::ClusterInfo &cluster, std::vector<Json> peers, const char *order,
          const Json &own) {
  std::sort(peers.begin(), peers.end(),
            [&](const Json &a, const Json &b) { return a.at(order) < b.at(order); });
  for (const Json &peer : peers) {
    if (peer.at(order) == own.at(order))
      cluster.container_rank = static_cast<int64_t>(cluster.container_addresses.size());
    cluster.container_addresses.push_back(peer.at("rendezvous_ip"));
    cluster.container_slot_counts.push_back(peer.at("slots"));
  }
}

// On Slurm and in jobs of Kubernetes the containers tell each other.
void gather(MasterSession &session, config::ClusterInfo &cluster, bool on_slurm) {
  codec::AllGather call{.allocation_id = cluster.allocation_id, .request_uuid = make_uuid()};
  const char *const order = on_slurm ? "rank" : "request_uuid";
  call.data["slots"] = cluster.slot_ids.size();
  if (on_slurm) {
    call.peer_count = environment_integer("SLURM_NPROCS").value_or(1);
    call.data["rank"] = environment_integer("SLURM_PROCID").value_or(0);
    call.data["rendezvous_ip"] = own_address(environment_variable("DET_SLURM_RENDEZVOUS_IFACE"));
  } else {
    call.peer_count = environment_integer("DET_KUBERNETES_JOB_PARALLELISM").value_or(1);
    call.data["request_uuid"] = call.request_uuid;
    call.data["rendezvous_ip"] = required("DET_KUBERNETES_POD_IP");
  }
  const Json own = call.data;
  const auto peer_count = static_cast<size_t>(call.peer_count);
  const auto answer = session.call(std::move(call), patient);
  try {
    fill(cluster, answer.data, order, own);
  } catch (const Json::exception &) {
    throw Error(Code::corrupt,
                "meeting the other containers: one of them gave something else than "
                "its address; use one release of detcore in all");
  }
  if (answer.data.size() != peer_count)
    throw Error(Code::state, "meeting the other containers: " + std::to_string(peer_count) +
                                 " were expected, " + std::to_string(answer.data.size()) + " came");
}

}  // namespace

void rendezvous(MasterSession &session, config::ClusterInfo &cluster) {
  if (cluster.met) return;
  const std::string kind = environment_variable("DET_RESOURCES_TYPE");
  if (kind == "slurm-job" || kind == "k8s-job") {
    gather(session, cluster, kind == "slurm-job");
  } else {
    const auto answer = session.call(
        codec::GetRendezvous{cluster.allocation_id, required("DET_RESOURCES_ID")}, patient);
    cluster.container_addresses = answer.addresses;
    cluster.container_rank = answer.rank;
    cluster.container_slot_counts = answer.slots;
  }
  cluster.met = true;
}

}  // namespace det::master
