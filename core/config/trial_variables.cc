#include "core/config/trial_variables.h"

#include "core/base/process/environment.h"

namespace det::config {

TrialVariables read_trial_variables() {
  TrialVariables variables;
  variables.trial_id = environment_integer("DET_TRIAL_ID").value_or(0);
  variables.run_id = environment_integer("DET_TRIAL_RUN_ID").value_or(0);
  variables.external_id = environment_variable("DET_EXTERNAL_ID");
  variables.external_experiment_id = environment_variable("DET_EXTERNAL_EXPERIMENT_ID");
  variables.config_text = environment_variable("DET_EXPERIMENT_CONFIG");
  variables.hparams_text = environment_variable("DET_HPARAMS");
  return variables;
}

}  // namespace det::config
