#include "core/launcher/local/process_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/error.h"
#include "core/launcher/program.h"

namespace det::launcher {

namespace {

bool belongs_to_this_process(std::string_view name) {
  static constexpr std::array<std::string_view, 13> prefixes{
      "DET_TRIAL_", "DET_EXPERIMENT_",  "DET_TASK_",      "DET_ALLOCATION_",
      "DET_SLOT_",  "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "PMIX_",
      "PMI_",       "MV2_COMM_WORLD_",  "MPI_LOCAL",      "ORTE_",
      "SLURM_"};
  static constexpr std::array<std::string_view, 21> names{"DET_LATEST_CHECKPOINT",
                                                          "DET_HPARAMS",
                                                          "DET_STEPS_COMPLETED",
                                                          "DET_SESSION_TOKEN",
                                                          "RANK",
                                                          "WORLD_SIZE",
                                                          "LOCAL_RANK",
                                                          "LOCAL_SIZE",
                                                          "LOCAL_WORLD_SIZE",
                                                          "CROSS_RANK",
                                                          "CROSS_SIZE",
                                                          "GROUP_RANK",
                                                          "GROUP_WORLD_SIZE",
                                                          "HOROVOD_RANK",
                                                          "HOROVOD_SIZE",
                                                          "HOROVOD_LOCAL_RANK",
                                                          "HOROVOD_LOCAL_SIZE",
                                                          "HOROVOD_CROSS_RANK",
                                                          "HOROVOD_CROSS_SIZE",
                                                          "TF_CONFIG",
                                                          "DET_CHIEF_IP"};
  return std::ranges::find(names, name) != names.end() ||
         std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

Variables inherited_variables() {
  Variables variables;
  for (char **entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == text.npos || belongs_to_this_process(text.substr(0, equals))) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::vector<std::string> assignments(const Variables &variables) {
  std::vector<std::string> out;
  out.reserve(variables.size());
  for (const auto &[name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

std::string search_path(const Variables &variables) {
  const auto path = variables.find("PATH");
  return path == variables.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second;
}

std::vector<std::string> through_mpirun(const std::vector<std::string> &command, int ranks,
                                        Variables &variables) {
  // Debian's name for Open MPI's launcher is also right where another MPI has the other.
  std::string mpirun;
  for (const char *const name : {"mpirun.openmpi", "mpirun"}) {
    try {
      find_program(name, search_path(variables), "/");
      mpirun = name;
      break;
    } catch (const Error &) {
      continue;
    }
  }
  if (mpirun.empty())
    throw Error(Code::not_found,
                "starting a trial of " + std::to_string(ranks) +
                    " ranks: there is no mpirun in the PATH; install Open MPI (apt-get install "
                    "openmpi-bin), or set resources.slots_per_trial to 1");
  // Variables, since other MPIs refuse Open MPI's options. Several trials share this machine: none
  // may bind its ranks to the first cores, or count all cores as its own.
  variables.insert({{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                    {"PRTE_MCA_hwloc_default_binding_policy", "none"}});
  if (geteuid() == 0)
    variables.insert({{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  std::vector<std::string> wrapped{mpirun, "-np", std::to_string(ranks)};
  wrapped.insert(wrapped.end(), command.begin(), command.end());
  return wrapped;
}

}  // namespace det::launcher
