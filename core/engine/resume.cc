#include "core/engine/resume.h"

#include <string>

#include "core/base/command_line.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/engine/lifecycle.h"
#include "core/engine/supervised.h"

namespace det::engine {

namespace {

std::string home_variable(const std::filesystem::path &store_directory) {
  const auto home = store_directory.parent_path();
  return home == user_data_directory() ? std::string()
                                       : "DET_HOME=" + quoted_for_shell(home.string()) + " ";
}

}  // namespace

std::string run_again_command(const std::filesystem::path &store_directory, int64_t experiment_id) {
  return home_variable(store_directory) + "det run --resume " + std::to_string(experiment_id);
}

Json resume_command(Database &store, const std::filesystem::path &store_directory,
                    int64_t trial_id) {
  if (const auto experiment_id = supervised_experiment(store, Target::trial, trial_id)) {
    Query experiment = store.query("SELECT state FROM experiments WHERE id=?", *experiment_id);
    if (!experiment.next() || is_terminal(experiment.view(0))) return {};
    return run_again_command(store_directory, *experiment_id);
  }
  const auto run = latest_run(store, trial_id);
  if (!run || run->command.empty()) return {};
  const std::string there =
      run->directory.empty() ? "" : "cd " + quoted_for_shell(run->directory) + " && ";
  return there + "DET_TRIAL_ID=" + std::to_string(trial_id) + " " + home_variable(store_directory) +
         run->command;
}

}  // namespace det::engine
