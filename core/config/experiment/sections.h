// The sections of a configuration, each in the file of its name.
#pragma once

#include "core/config/experiment/schema.h"

namespace det::config {

// {batches: N}, {records: N} or {epochs: N}, of at least `least`.
ConfigSchema length(int least);

ConfigSchema hyperparameters_schema();
// For the whole configuration: a grid needs to know how many points each range has.
bool check_grid(ConfigChecker &checker, const Json &config, const ConfigPath &at);
// Whether a search has anything to vary or to set.
bool has_hyperparameters(const Json &hyperparameters);

ConfigSchema searcher_schema(ConfigRules rules);
// What keeps a complete configuration from being searched.
void check_search(ConfigChecker &checker, const Json &config, ConfigRules rules);

ConfigSchema storage_schema();
ConfigSchema tensorboard_storage_schema();

ConfigSchema environment_schema(ConfigRules rules);
ConfigSchema resources_schema(ConfigRules rules);
ConfigSchema bind_mounts_schema();

ConfigSchema log_policies_schema(ConfigRules rules);
// Those that every experiment has.
Json default_log_policies(ConfigRules rules);

}  // namespace det::config
