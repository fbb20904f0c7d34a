#include "core/comm/launch_mpi.h"

#include "core/base/environment.h"
#include "core/comm/slurm.h"
#include "core/comm/variables.h"

namespace det {

namespace {

// None of them tells the index of the machine.
constexpr RankNames open_mpi{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr RankNames mvapich{"MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
                            "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"};
constexpr RankNames hydra{"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr RankNames pals{"MPICH", "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"};
constexpr RankNames pmi{"MPICH", "PMI_RANK", "PMI_SIZE"};

bool is_launched_by(const RankNames &names) { return is_set(names.rank) || is_set(names.size); }
bool has_local(const RankNames &names) {
  return is_set(names.local_rank) || is_set(names.local_size);
}

Launch launch_over_mpi(const Ranks &ranks, const char *launcher) {
  return {ranks, environment_variable("DET_CHIEF_IP"), launcher, ranks.size > 1};
}

Launch launch_from_open_mpi() {
  const Ranks ranks = read_ranks(open_mpi);
  if (is_set("PMIX_RANK"))  // which mpirun sets too
    check_equal(open_mpi.rank, ranks.rank, "PMIX_RANK", rank_variable("PMIX_RANK", "Open MPI"));
  return launch_over_mpi(ranks, open_mpi.launcher);
}

// srun's PMI (--mpi=pmi2) gives no local ranks; Slurm's own variables do.
Launch launch_from_pmi() {
  if (has_local(hydra)) return launch_over_mpi(read_ranks(hydra), hydra.launcher);
  if (has_local(pals)) return launch_over_mpi(read_ranks(pals), pals.launcher);
  const Ranks ranks = read_ranks(pmi);
  const std::optional<SlurmStep> step = slurm_step();
  if (!step) return launch_over_mpi(ranks, pmi.launcher);
  check_equal(pmi.rank, ranks.rank, "SLURM_PROCID", step->ranks.rank);
  check_equal(pmi.size, ranks.size, "SLURM_NTASKS", step->ranks.size);
  return launch_over_mpi(step->ranks, pmi.launcher);
}

// PMIx puts all but the rank where only its library finds it, unless srun started it.
Launch launch_from_pmix() {
  const int rank = rank_variable("PMIX_RANK", "PMIx");
  const std::optional<SlurmStep> step = slurm_step();
  if (!step) return {{}, environment_variable("DET_CHIEF_IP"), "PMIx", true};
  check_equal("PMIX_RANK", rank, "SLURM_PROCID", step->ranks.rank);
  return launch_over_mpi(step->ranks, "PMIx");
}

}  // namespace

std::optional<Launch> launch_from_mpi() {
  if (is_launched_by(open_mpi)) return launch_from_open_mpi();
  if (is_launched_by(mvapich)) return launch_over_mpi(read_ranks(mvapich), mvapich.launcher);
  if (is_launched_by(pmi)) return launch_from_pmi();
  if (is_set("PMIX_RANK")) return launch_from_pmix();
  return std::nullopt;
}

}  // namespace det
