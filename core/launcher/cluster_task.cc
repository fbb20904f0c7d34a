#include "core/launcher/cluster_task.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/config/cluster_info.h"
#include "core/launcher/collect_task.h"
#include "core/launcher/context_directory.h"
#include "core/launcher/entrypoint.h"
#include "core/launcher/program.h"

namespace det::launcher {

namespace {

// Their scripts prepare the container for Python first; our programs prepare themselves.
bool is_cluster_preparation(const std::vector<std::string> &arguments) {
  if (arguments.size() < 2 || arguments[0] != "-m") return false;
  const std::string &module = arguments[1];
  return module == "pip" || module.ends_with(".prep_container") ||
         module.ends_with(".enrich_task_logs");
}

std::vector<std::string> cluster_entrypoint(const Json &config) {
  std::vector<std::string> command = entrypoint_command(config);
  if (!command.empty()) return command;
  throw Error(Code::invalid,
              "running the trial's program: the experiment's configuration has no entrypoint");
}

[[noreturn]] void become(std::vector<std::string> command) {
  const std::filesystem::path program =
      find_program(command.front(), environment_variable("PATH"), std::filesystem::current_path());
  std::vector<char *> arguments;
  for (std::string &argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  throw_not_started(errno, program);
}

}  // namespace

bool is_cluster_task(const std::vector<std::string> &arguments) {
  if (arguments.empty() || environment_variable("DET_TASK_TYPE").empty() ||
      environment_variable("DET_ALLOCATION_ID").empty())
    return false;
  const bool is_module = arguments[0] == "-m" && arguments.size() > 1 &&
                         (arguments[1] == "pip" || arguments[1].starts_with("determined."));
  return is_module || arguments[0].ends_with(".py");
}

int run_cluster_task(const std::vector<std::string> &arguments,
                     const std::shared_ptr<Logger> &logger) {
  if (is_cluster_preparation(arguments)) return 0;
  const std::optional<config::ClusterInfo> cluster = config::read_cluster_info();
  if (!cluster)
    throw Error(Code::invalid,
                "running a task of a cluster: DET_MASTER is no address of a master over HTTP");
  if (cluster->trial) {
    fetch_context_directory(*cluster, logger);
    TrialLaunch trial;
    trial.command = cluster_entrypoint(cluster->trial->config);
    StandIn().add_to(trial);
    for (const auto &[name, value] : trial.environment) setenv(name.c_str(), value.c_str(), 1);
    become(trial.command);
  }
  if (cluster->task_type == "CHECKPOINT_GC")
    return collect_for_cluster(read_collect_request(arguments), *cluster, logger);
  throw Error(Code::unsupported, "running a task of type " + cluster->task_type +
                                     ": det runs trials and collects checkpoints; have the cluster "
                                     "start others in an image with Python, without "
                                     "DET_PYTHON_EXECUTABLE");
}

}  // namespace det::launcher
