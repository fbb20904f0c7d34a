#include "core/comm/launch.h"

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/json.h"

namespace det {

namespace {

struct Names {
  const char *launcher;
  const char *rank, *size, *local_rank, *local_size, *cross_rank, *cross_size;
};

constexpr Names horovod{"Horovod",
                        "HOROVOD_RANK",
                        "HOROVOD_SIZE",
                        "HOROVOD_LOCAL_RANK",
                        "HOROVOD_LOCAL_SIZE",
                        "HOROVOD_CROSS_RANK",
                        "HOROVOD_CROSS_SIZE"};
constexpr Names deepspeed{"DeepSpeed",  "RANK",       "WORLD_SIZE", "LOCAL_RANK",
                          "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE"};
constexpr Names torch{"torch.distributed", "RANK",       "WORLD_SIZE",      "LOCAL_RANK",
                      "LOCAL_WORLD_SIZE",  "GROUP_RANK", "GROUP_WORLD_SIZE"};

bool is_set(const char *name) { return !environment_variable(name).empty(); }

int required(const char *name, const char *launcher) {
  const std::optional<int64_t> value = environment_integer(name);
  if (!value)
    throw Error(Code::not_found, std::string("joining a job of ") + launcher + ": the variable " +
                                     name + " is not set; start the program with that launcher");
  if (*value < 0 || *value > 1'000'000'000)
    throw Error(Code::invalid, std::string("reading the variable ") + name + "=" +
                                   std::to_string(*value) +
                                   ": expected a rank or a number of them");
  return static_cast<int>(*value);
}

Launch launch_from(const Names &names, const std::string &chief_ip) {
  Launch launch;
  launch.ranks = {
      required(names.rank, names.launcher),       required(names.size, names.launcher),
      required(names.local_rank, names.launcher), required(names.local_size, names.launcher),
      required(names.cross_rank, names.launcher), required(names.cross_size, names.launcher)};
  check_ranks(launch.ranks);
  launch.chief_ip = chief_or_variable(chief_ip);
  return launch;
}

// Launchers that give a size before anything else is set up. SLURM_PROCID is also set in a plain
// batch step, so only a size above 1 tells that there is a job.
struct Sign {
  const char *launcher, *size;
};
constexpr Sign signs[] = {{"Open MPI", "OMPI_COMM_WORLD_SIZE"},
                          {"MVAPICH2", "MV2_COMM_WORLD_SIZE"},
                          {"MPICH", "PMI_SIZE"},
                          {"Slurm", "SLURM_NTASKS"}};

}  // namespace

std::string chief_or_variable(const std::string &chief_ip) {
  return chief_ip.empty() ? environment_variable("DET_CHIEF_IP") : chief_ip;
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
    Launch launch;
    launch.ranks = {index, count, 0, 1, index, count};
    launch.chief_ip = chief.substr(0, chief.find(':'));
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
  if (is_set(torch.local_size) && is_set(torch.cross_rank)) return launch_from_torch({});
  if (is_set(deepspeed.cross_rank) && is_set(deepspeed.local_size))
    return launch_from_deepspeed({});
  if (is_set("TF_CONFIG")) return launch_from_tf_config();
  for (const Sign &sign : signs) {
    const int64_t size = environment_integer(sign.size).value_or(1);
    if (size > 1)
      throw Error(Code::unsupported, std::string("joining a job of ") + std::to_string(size) +
                                         " processes launched by " + sign.launcher +
                                         ": this release joins one process only");
  }
  return {};
}

}  // namespace det
