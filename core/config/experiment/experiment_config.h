// Reads the configuration of an experiment: YAML or JSON text in, a complete document out.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::config {

class ConfigChecker;

// Which release of the platform the configuration is read as.
enum class ConfigRules { v0_33, v0_38 };

// Where on the way to a complete configuration a problem shows. The original stops at the first
// stage that has any.
enum class ConfigStage { parse, complete, search };

struct ConfigProblem {
  std::string path;     // below <config>: ".searcher.metric", ".bind_mounts[1]"; empty: the whole
  std::string kind;     // "wrong_type", "unknown_key", ...; docs/experiment-config.md lists them
  std::string key;      // the key that is unknown or missing, else empty
  int line = 0;         // in the file, from 1; 0 where there is none to name
  std::string message;  // what was found, and what is allowed
  ConfigStage stage = ConfigStage::parse;
  bool is_warning = false;  // it is read, but perhaps otherwise than it was meant
  int column = 0;           // from 1, of what is no YAML; else 0
};

// Everything that is wrong with a configuration. what() tells the first problem, and how many more
// there are.
class ConfigError : public Error {
 public:
  ConfigError(const std::string &file_name, std::vector<ConfigProblem> found);

  std::vector<ConfigProblem> problems;  // by stage, then by line
};

// "FILE:LINE: <config>.PATH: MESSAGE", with "warning: " before the message of one; of what is no
// YAML "FILE:LINE:COLUMN: ".
std::string describe(const std::string &file_name, const ConfigProblem &problem);

// Sources of lower priority fill what the text leaves out; null: there is no such source.
struct ExperimentConfigSources {
  std::string text;
  std::string file_name = "config";  // for messages
  Json config_template;
  Json task_container_defaults;
  Json workspace_storage;  // a checkpoint_storage section
  Json master_storage;     // likewise
  bool managed = true;     // trials are started from it: it must say how
  ConfigRules rules = ConfigRules::v0_33;
  // What else there is to say against a complete configuration that has no problems so far.
  std::function<void(ConfigChecker &, const Json &)> also_check;
};

// For what a program was given that starts a trial by itself: checks what there is, under either
// rules, and fills nothing in. Throws ConfigError.
void check_written_config(const Json &config, const std::string &origin);

// {"path": "<config>.searcher", "kind", "key", "line", "column", "message", "severity"}.
Json to_json(const ConfigProblem &problem);

// What a store in the directory `home` has as `master_storage`.
Json store_storage(const std::filesystem::path &home);

// Complete: every default is filled in and every shorthand is written out. Throws ConfigError.
// What is no problem but worth a look is appended to `warnings`, also then.
Json read_experiment_config(const ExperimentConfigSources &sources,
                            std::vector<ConfigProblem> *warnings = nullptr);

}  // namespace det::config
