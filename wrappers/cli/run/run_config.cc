#include "wrappers/cli/run/run_config.h"

#include "core/launcher/runnable.h"
#include "wrappers/cli/command.h"

namespace det::cli {

config::ExperimentConfigSources run_sources(const std::string &file, const std::string &rules,
                                            const std::filesystem::path &home, bool managed) {
  config::ExperimentConfigSources sources;
  sources.text = read_config_text(file);
  sources.file_name = file == "-" ? "standard input" : file;
  sources.managed = managed;
  sources.rules = rules == "0.38" ? config::ConfigRules::v0_38 : config::ConfigRules::v0_33;
  sources.master_storage = config::store_storage(home);
  const search::SearchRules search =
      rules == "0.38" ? search::SearchRules::metrics : search::SearchRules::operations;
  sources.also_check = [search](config::ConfigChecker &checker, const Json &config) {
    launcher::check_runnable(checker, config, search);
  };
  return sources;
}

ReadConfig read_run_config(const config::ExperimentConfigSources &sources) {
  ReadConfig read;
  try {
    read.config = config::read_experiment_config(sources, &read.warnings);
  } catch (const config::ConfigError &error) {
    read.problems = error.problems;
  }
  return read;
}

}  // namespace det::cli
