#include "run_config.h"

#include "command.h"
#include "core/launcher/runnable.h"

namespace det::cli {

ExperimentConfigSources run_sources(const std::string &file, const std::string &rules,
                                    const std::filesystem::path &home, bool managed) {
  ExperimentConfigSources sources;
  sources.text = read_config_text(file);
  sources.file_name = file == "-" ? "standard input" : file;
  sources.managed = managed;
  sources.rules = rules == "0.38" ? ConfigRules::v0_38 : ConfigRules::v0_33;
  sources.master_storage = store_storage(home);
  const SearchRules search = rules == "0.38" ? SearchRules::metrics : SearchRules::operations;
  sources.also_check = [search](ConfigChecker &checker, const Json &config) {
    check_runnable(checker, config, search);
  };
  return sources;
}

ReadConfig read_run_config(const ExperimentConfigSources &sources) {
  ReadConfig read;
  try {
    read.config = read_experiment_config(sources, &read.warnings);
  } catch (const ConfigError &error) {
    read.problems = error.problems;
  }
  return read;
}

}  // namespace det::cli
