#include "core/comm/join/launch.h"

#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/comm/join/endpoint.h"
#include "core/comm/join/slurm.h"
#include "core/comm/join/variables.h"

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

// Jobs started by the launchers of MPI, recognised before MPI itself is there to ask.

// None of them tells the index of the machine.
constexpr RankNames open_mpi{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr RankNames mvapich{"MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
                            "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"};
constexpr RankNames hydra{"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr RankNames pals{"MPICH", "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"};
constexpr RankNames pmi{"MPICH", "PMI_RANK", "PMI_SIZE"};

bool is_mpi_launched_by(const RankNames &names) { return is_set(names.rank) || is_set(names.size); }
bool has_local(const RankNames &names) {
  return is_set(names.local_rank) || is_set(names.local_size);
}

Launch launch_over_mpi(const Ranks &ranks, const char *launcher) {
  return {ranks, environment_variable("DET_CHIEF_IP"), launcher, ranks.size != 1};
}

// What the variables do not tell is 0 of 0.
Launch launch_from(const RankNames &names) {
  Ranks ranks = read_ranks(names);
  if (names.local_size == nullptr && ranks.size > 1) ranks.local_size = 0;
  if (ranks.local_size != ranks.size) ranks.cross_size = 0;
  return launch_over_mpi(ranks, names.launcher);
}

Launch launch_from_open_mpi() {
  Launch launch = launch_from(open_mpi);
  if (is_set("PMIX_RANK"))  // which mpirun sets too
    check_equal(open_mpi.rank, launch.ranks.rank, "PMIX_RANK",
                rank_variable("PMIX_RANK", open_mpi.launcher));
  return launch;
}

// srun's PMI (--mpi=pmi2) gives no local ranks; Slurm's own variables do.
Launch launch_from_pmi() {
  if (has_local(hydra)) return launch_from(hydra);
  if (has_local(pals)) return launch_from(pals);
  Launch launch = launch_from(pmi);
  const std::optional<SlurmStep> step = slurm_step();
  if (!step) return launch;
  check_equal(pmi.rank, launch.ranks.rank, "SLURM_PROCID", step->ranks.rank);
  check_equal(pmi.size, launch.ranks.size, "SLURM_NTASKS", step->ranks.size);
  return launch_over_mpi(step->ranks, pmi.launcher);
}

// PMIx puts all but the rank where only its library finds it, unless srun started it.
Launch launch_from_pmix() {
  const int rank = rank_variable("PMIX_RANK", "PMIx");
  const std::optional<SlurmStep> step = slurm_step();
  if (!step) return launch_over_mpi({rank, 0, 0, 0, 0, 0}, "PMIx");
  check_equal("PMIX_RANK", rank, "SLURM_PROCID", step->ranks.rank);
  return launch_over_mpi(step->ranks, "PMIx");
}

// Nothing when no launcher of MPI left its variables.
std::optional<Launch> launch_from_mpi() {
  if (is_mpi_launched_by(open_mpi)) return launch_from_open_mpi();
  if (is_mpi_launched_by(mvapich)) return launch_from(mvapich);
  if (is_mpi_launched_by(pmi)) return launch_from_pmi();
  if (is_set("PMIX_RANK")) return launch_from_pmix();
  return std::nullopt;
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
