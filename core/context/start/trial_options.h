// Which trial the options and variables ask for, and where its checkpoints go.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/log/log.h"
#include "core/context/start/start.h"
#include "core/engine/runs/run_info.h"
#include "core/storage/storage.h"

namespace det::context {

struct TrialOptions {
  int64_t trial_id = 0;
  int64_t run_id = 0;  // where a supervisor started this process
  std::string external_id, external_experiment_id;
  std::string name;  // empty: not given
  Json config;       // object or null
  std::string config_origin;
  Json hparams;  // object or null
  // What comes from outside goes before what is in the program: of what that was so, for people.
  std::vector<std::string> overridden;
};

TrialOptions trial_options(const CoreOptions &options);

// Of a trial that is continued: tells what of these has no effect, since it goes on with the values
// that it began with. Of the configuration only where `with_config`.
void tell_ignored(const TrialOptions &given, const engine::RunInfo &run, bool with_config,
                  Logger &logger);

// From det_core_options.checkpoint_storage: a JSON object, or a path or URI.
std::unique_ptr<storage::Storage> storage_from_option(const std::string &option,
                                                      std::shared_ptr<Logger> logger);

// From an experiment configuration; null where it has none. `mounted`: where a container has the
// file system that is shared, if it has.
std::unique_ptr<storage::Storage> storage_from_config(const Json &config,
                                                      const std::optional<std::string> &mounted,
                                                      std::shared_ptr<Logger> logger);

// Of a rank that is told of the chief's, without the credentials: those that this rank's option, or
// `config`, has for the same storage, else what its environment has.
std::unique_ptr<storage::Storage> storage_of_chief(const Json &told, const CoreOptions &options,
                                                   const Json &config,
                                                   const std::shared_ptr<Logger> &logger);

}  // namespace det::context
