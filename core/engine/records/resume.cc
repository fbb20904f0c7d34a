#include "core/engine/records/resume.h"

#include <string>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process/command_line.h"
#include "core/engine/runs/lifecycle.h"
#include "core/engine/runs/ranks.h"

namespace det::engine {

namespace {

std::string home_variable(const std::filesystem::path &store_directory) {
  const auto home = store_directory.parent_path();
  return home == user_data_directory() ? std::string()
                                       : "DET_HOME=" + quoted_for_shell(home.string()) + " ";
}

std::string variables(const std::filesystem::path &store_directory, int64_t trial_id) {
  return "DET_TRIAL_ID=" + std::to_string(trial_id) + " " + home_variable(store_directory);
}

std::string in_its_directory(const RunRecord &run) {
  return run.directory.empty() ? "" : "cd " + quoted_for_shell(run.directory) + " && ";
}

bool has_ranks(Database &store, const RunRecord &run) {
  return ranks_of(store, run.trial_id, run.run_id).size() > 1;
}

}  // namespace

std::string run_again_command(const std::filesystem::path &store_directory, int64_t experiment_id) {
  return home_variable(store_directory) + "det run --resume " + std::to_string(experiment_id);
}

Json resume_command(Database &store, const std::filesystem::path &store_directory,
                    int64_t trial_id) {
  if (const auto experiment_id = supervised_experiment_of(store, trial_id)) {
    Query experiment = store.query("SELECT state FROM experiments WHERE id=?", *experiment_id);
    if (!experiment.next() || is_terminal(experiment.view(0))) return {};
    return run_again_command(store_directory, *experiment_id);
  }
  const auto run = latest_run(store, trial_id);
  if (!run || run->command.empty()) return {};
  if (!run->command_starts_all && has_ranks(store, *run)) return {};
  return in_its_directory(*run) + variables(store_directory, trial_id) + run->command;
}

Json resume_note(Database &store, const std::filesystem::path &store_directory, int64_t trial_id) {
  if (supervised_experiment_of(store, trial_id)) return {};
  const auto run = latest_run(store, trial_id);
  if (!run || run->command.empty() || run->command_starts_all || !has_ranks(store, *run)) return {};
  return "a job of several ranks, and what started them is not known here; start it as before, "
         "with " +
         variables(store_directory, trial_id) +
         "in the environment. Rank 0 was started by: " + in_its_directory(*run) + run->command;
}

}  // namespace det::engine
