#include "core/config/cluster.h"

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace det {

namespace fs = std::filesystem;

std::optional<Json> read_cluster_file() {
  const std::string directory = environment_variable("DET_INFO_DIR");
  const fs::path file =
      fs::path(directory.empty() ? "/run/determined/info" : directory) / "cluster.json";
  if (!fs::exists(file)) return std::nullopt;
  try {
    return parse_json_object(read_file(file), "'" + file.string() + "'");
  } catch (const Error &e) {
    throw Error(Code::corrupt, std::string(e.what()) +
                                   "; a cluster writes this file before it starts the process");
  }
}

TrialVariables read_trial_variables() {
  TrialVariables variables;
  variables.trial_id = environment_integer("DET_TRIAL_ID").value_or(0);
  variables.external_id = environment_variable("DET_EXTERNAL_ID");
  variables.external_experiment_id = environment_variable("DET_EXTERNAL_EXPERIMENT_ID");
  variables.config_text = environment_variable("DET_EXPERIMENT_CONFIG");
  variables.hparams_text = environment_variable("DET_HPARAMS");
  return variables;
}

}  // namespace det
