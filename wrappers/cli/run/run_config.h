// A configuration as `det run` reads it: with all that keeps it from being run on any machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/config/experiment/experiment_config.h"

namespace det::cli {

// `file` as for read_config_text(); `home` is that of the store. `managed`: it must say how a trial
// is started.
config::ExperimentConfigSources run_sources(const std::string &file, const std::string &rules,
                                            const std::filesystem::path &home, bool managed);

struct ReadConfig {
  Json config;  // complete, where there are no problems
  std::vector<config::ConfigProblem> problems, warnings;
};
ReadConfig read_run_config(const config::ExperimentConfigSources &sources);

}  // namespace det::cli
