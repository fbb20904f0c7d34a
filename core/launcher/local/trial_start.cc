#include "core/launcher/local/trial_start.h"

#include "core/base/error.h"
#include "core/launcher/program.h"

namespace det::launcher {

namespace {

Variables identity_variables(const TrialLaunch &launch) {
  return {{"DET_TRIAL_ID", std::to_string(launch.trial_id)},
          {"DET_TRIAL_RUN_ID", std::to_string(launch.run_id)}};
}

// What is to be started, and what else it needs in the environment.
void set_program(const TrialLaunch &launch, Variables &variables, Start &start) {
  if (launch.command.empty())
    throw Error(Code::invalid, "starting a trial: its command is empty; name a program");
  if (!std::filesystem::is_directory(start.directory))
    throw Error(Code::not_found, "starting a trial in '" + start.directory.string() +
                                     "': there is no such directory");
  start.program = find_program(launch.command[0], search_path(variables), start.directory);
  if (launch.slots > 1) {
    start.arguments = through_mpirun(launch.command, launch.slots, variables);
    start.program = find_program(start.arguments[0], search_path(variables), "/");
  }
}

}  // namespace

TrialStart trial_start(const TrialLaunch &launch, const Variables &of_slots,
                       const Variables &usual) {
  Variables variables = inherited_variables();
  variables.insert(usual.begin(), usual.end());
  for (const Variables &added : {launch.environment, identity_variables(launch), of_slots})
    for (const auto &[name, value] : added) variables[name] = value;
  TrialStart trial;
  trial.start.arguments = launch.command;
  trial.start.directory =
      launch.directory.empty() ? std::filesystem::current_path() : launch.directory;
  trial.start.log_file = launch.log_file;
  try {
    set_program(launch, variables, trial.start);
  } catch (const Error &) {
    trial.defect = std::current_exception();
  }
  trial.start.environment = assignments(variables);
  return trial;
}

std::vector<std::string> marks_of(const TrialLaunch &launch) {
  return assignments(identity_variables(launch));
}

}  // namespace det::launcher
