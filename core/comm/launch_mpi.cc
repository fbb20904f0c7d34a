#include "core/comm/launch_mpi.h"

#include "core/base/environment.h"
#include "core/comm/slurm.h"
#include "core/comm/variables.h"

namespace det::comm {

namespace {

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

}  // namespace

std::optional<Launch> launch_from_mpi() {
  if (is_mpi_launched_by(open_mpi)) return launch_from_open_mpi();
  if (is_mpi_launched_by(mvapich)) return launch_from(mvapich);
  if (is_mpi_launched_by(pmi)) return launch_from_pmi();
  if (is_set("PMIX_RANK")) return launch_from_pmix();
  return std::nullopt;
}

}  // namespace det::comm
