#include "core/launcher/trial_launch.h"

#include "core/base/json.h"
#include "core/launcher/run_policy.h"

namespace det::launcher {

namespace {

// execve(2) takes no longer text; who needs more reads it through det/info.h.
constexpr size_t longest_variable = 120'000;

// Those that a configuration gives its trials.
std::map<std::string, std::string> configured_variables(const Json &config, bool on_gpus) {
  const Json environment = config.value("environment", Json());
  const Json lists =
      environment.is_object() ? environment.value("environment_variables", Json()) : Json();
  const Json list = lists.is_object() ? lists.value(on_gpus ? "cuda" : "cpu", Json()) : lists;
  std::map<std::string, std::string> variables;
  if (!list.is_array()) return variables;
  for (const Json &assignment : list) {
    const std::string text = assignment.is_string() ? assignment.get<std::string>() : "";
    // A name alone stands for the value of this process, which its trials have anyway.
    if (const size_t end = text.find('='); end != text.npos && end > 0)
      variables[text.substr(0, end)] = text.substr(end + 1);
  }
  return variables;
}

void add_document(std::map<std::string, std::string> &variables, const char *name,
                  const Json &document) {
  if (std::string text = to_wire(document); text.size() <= longest_variable)
    variables[name] = std::move(text);
}

}  // namespace

TrialLaunch trial_launch(const Json &config, const engine::LaunchPlan &plan, bool on_gpus) {
  TrialLaunch launch;
  launch.slots = static_cast<int>(run_policy(config).slots_per_trial);
  launch.command = plan.command;
  launch.environment = configured_variables(config, on_gpus);
  add_document(launch.environment, "DET_EXPERIMENT_CONFIG", config);
  launch.directory = plan.directory;
  launch.slots_at_once = slots_at_once(config);
  return launch;
}

std::map<std::string, std::string> trial_environment(const engine::RunInfo &run,
                                                     const std::filesystem::path &store_directory) {
  std::map<std::string, std::string> variables{
      {"DET_MASTER", store_directory.parent_path().string()},
      {"DET_HOME", store_directory.parent_path().string()},
      {"DET_CLUSTER_ID", run.cluster_id},
      {"DET_TASK_TYPE", "TRIAL"},
      {"DET_TASK_ID", run.task_id},
      {"DET_ALLOCATION_ID", run.allocation_id},
      {"DET_EXPERIMENT_ID", std::to_string(run.experiment_id)},
      {"DET_TRIAL_ID", std::to_string(run.trial_id)},
      {"DET_TRIAL_RUN_ID", std::to_string(run.run_id)},
      {"DET_TRIAL_SEED", std::to_string(run.trial_seed)},
      {"DET_STEPS_COMPLETED", std::to_string(run.steps_completed)},
  };
  if (run.latest_checkpoint) variables["DET_LATEST_CHECKPOINT"] = *run.latest_checkpoint;
  add_document(variables, "DET_HPARAMS", run.hparams);
  return variables;
}

}  // namespace det::launcher
