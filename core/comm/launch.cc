#include "core/comm/launch.h"

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/comm/endpoint.h"
#include "core/comm/launch_mpi.h"
#include "core/comm/slurm.h"
#include "core/comm/variables.h"

namespace det::comm {

namespace {

constexpr RankNames horovod{"Horovod",
                            "HOROVOD_RANK",
                            "HOROVOD_SIZE",
                            "HOROVOD_LOCAL_RANK",
                            "HOROVOD_LOCAL_SIZE",
                            "HOROVOD_CROSS_RANK",
                            "HOROVOD_CROSS_SIZE"};
constexpr RankNames deepspeed{"DeepSpeed",  "RANK",       "WORLD_SIZE", "LOCAL_RANK",
                              "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE"};
constexpr RankNames torch{"torch.distributed", "RANK",       "WORLD_SIZE",      "LOCAL_RANK",
                          "LOCAL_WORLD_SIZE",  "GROUP_RANK", "GROUP_WORLD_SIZE"};

Launch launch_from(const RankNames &names, const std::string &chief_ip) {
  return {read_ranks(names), chief_or_variable(chief_ip), names.launcher};
}

// torchrun and DeepSpeed share RANK and WORLD_SIZE; the other names tell them apart.
bool is_launched_by(const RankNames &names) {
  if (!is_set(names.rank) || !is_set(names.size)) return false;
  return is_set(names.local_size) || is_set(names.cross_rank) || is_set(names.cross_size);
}

// Of "HOST:PORT", "[HOST]:PORT", or one of them without the port.
std::string host_in(const std::string &address) {
  const size_t colon = address.rfind(':');
  const bool is_bare = address.find(':') != colon && !address.starts_with('[');  // IPv6
  const bool has_port = colon != address.npos && !is_bare && !address.ends_with(']');
  return without_brackets(has_port ? address.substr(0, colon) : address);
}

}  // namespace

std::string chief_or_variable(const std::string &chief_ip) {
  return without_brackets(chief_ip.empty() ? environment_variable("DET_CHIEF_IP") : chief_ip);
}

Launch launch_from_horovod(const std::string &chief_ip) { return launch_from(horovod, chief_ip); }
Launch launch_from_deepspeed(const std::string &chief_ip) {
  return launch_from(deepspeed, chief_ip);
}
Launch launch_from_torch(const std::string &chief_ip) { return launch_from(torch, chief_ip); }

Launch launch_from_tf_config() {
  const std::string text = environment_variable("TF_CONFIG");
  if (text.empty()) return {};
  const Json config = parse_json_object(text, "the variable TF_CONFIG");
  try {
    const Json &task = config.at("task");
    if (task.at("type") != "worker")
      throw Error(Code::state, "joining the job of TF_CONFIG: the task is '" +
                                   task.at("type").get<std::string>() +
                                   "'; only workers take part");
    const Json &workers = config.at("cluster").at("worker");
    if (workers.size() <= 1) return {};
    const int index = task.at("index").get<int>();
    const int count = static_cast<int>(workers.size());
    const std::string chief = workers.at(0).get<std::string>();
    Launch launch{{index, count, 0, 1, index, count}, host_in(chief), "TF_CONFIG"};
    check_ranks(launch.ranks);
    return launch;
  } catch (const Json::exception &) {
    throw Error(Code::invalid,
                "reading the variable TF_CONFIG: expected {\"task\": {\"type\": \"worker\", "
                "\"index\": N}, \"cluster\": {\"worker\": [\"host:port\", ...]}}");
  }
}

Launch launch_from_environment() {
  if (is_set(horovod.rank)) return launch_from_horovod({});
  if (is_launched_by(torch)) return launch_from_torch({});
  if (is_launched_by(deepspeed)) return launch_from_deepspeed({});
  if (is_set("TF_CONFIG")) return launch_from_tf_config();
  if (auto launch = launch_from_mpi()) return *launch;
  if (const std::optional<SlurmStep> step = slurm_step()) {
    const std::string chief_ip = chief_or_variable({});
    return {step->ranks, chief_ip.empty() ? step->chief : chief_ip, "Slurm"};
  }
  // A job that somebody described by hand, and not to the end: the missing variable is named.
  if (environment_integer(torch.size).value_or(1) > 1) return launch_from_torch({});
  return {};
}

}  // namespace det::comm
