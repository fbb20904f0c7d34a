// What a cluster told this process through files or variables, before any master is asked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/json.h"

namespace det {

// `cluster.json` of the info directory (DET_INFO_DIR, else /run/determined/info), when a cluster
// started this process. Throws Code::corrupt, naming the file, when it cannot be read as JSON.
std::optional<Json> read_cluster_file();

// The variables that describe the trial to run; absent ones are empty or 0.
struct TrialVariables {
  int64_t trial_id = 0;                // DET_TRIAL_ID
  std::string external_id;             // DET_EXTERNAL_ID
  std::string external_experiment_id;  // DET_EXTERNAL_EXPERIMENT_ID
  std::string config_text;             // DET_EXPERIMENT_CONFIG
  std::string hparams_text;            // DET_HPARAMS
};

// Throws Code::invalid, naming the variable.
TrialVariables read_trial_variables();

}  // namespace det
