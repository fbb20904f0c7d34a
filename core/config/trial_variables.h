// Which trial the variables ask for, where no cluster started this process.
#pragma once

#include <cstdint>
#include <string>

namespace det::config {

// Absent ones are empty or 0.
struct TrialVariables {
  int64_t trial_id = 0;                // DET_TRIAL_ID
  int64_t run_id = 0;                  // DET_TRIAL_RUN_ID
  std::string external_id;             // DET_EXTERNAL_ID
  std::string external_experiment_id;  // DET_EXTERNAL_EXPERIMENT_ID
  std::string config_text;             // DET_EXPERIMENT_CONFIG
  std::string hparams_text;            // DET_HPARAMS
};

// Throws Code::invalid, naming the variable.
TrialVariables read_trial_variables();

}  // namespace det::config
