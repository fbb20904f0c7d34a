#include "core/context/trial_options.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/config/trial_variables.h"

namespace det::context {

namespace {

struct GivenText {
  const std::string &text;
  const char *origin;
};

Json parse_object_or_null(const GivenText &given) {
  return given.text.empty() ? Json() : parse_json_object(given.text, given.origin);
}

// An option, else the variable.
GivenText option_or_variable(const GivenText &option, const GivenText &variable) {
  return option.text.empty() ? variable : option;
}

// In a store or on a master it would become another one.
void require_utf8(const std::string &name, const char *what) {
  if (!is_utf8(name))
    throw Error(Code::invalid, std::string("starting: ") + what + " is not in UTF-8");
}

}  // namespace

TrialOptions trial_options(const CoreOptions &options) {
  const config::TrialVariables variables = config::read_trial_variables();
  TrialOptions trial;
  trial.trial_id = options.trial_id != 0 ? options.trial_id : variables.trial_id;
  if (trial.trial_id == variables.trial_id) trial.run_id = variables.run_id;
  trial.external_id = options.external_id.empty() ? variables.external_id : options.external_id;
  trial.external_experiment_id = options.external_experiment_id.empty()
                                     ? variables.external_experiment_id
                                     : options.external_experiment_id;
  const GivenText config =
      option_or_variable({options.config_text, "config_json"},
                         {variables.config_text, "the variable DET_EXPERIMENT_CONFIG"});
  trial.config = parse_object_or_null(config);
  trial.config_origin = config.origin;
  trial.hparams = parse_object_or_null(
      option_or_variable({options.hparams_text, "hparams_json"},
                         {variables.hparams_text, "the variable DET_HPARAMS"}));
  trial.name = options.name;
  if (trial.name.empty() && trial.config.is_object())
    if (const Json name = trial.config.value("name", Json()); name.is_string())
      trial.name = name.get<std::string>();
  require_utf8(trial.name, "the name of the experiment");
  require_utf8(trial.external_id, "the external id of the trial");
  require_utf8(trial.external_experiment_id, "the external id of the experiment");
  return trial;
}

// A JSON object, or a path or URI.
std::unique_ptr<storage::Storage> storage_from_option(const std::string &option,
                                                      std::shared_ptr<Logger> logger) {
  const size_t first = option.find_first_not_of(" \t\n");
  if (first == option.npos || option[first] != '{')
    return storage::make_storage_from_uri(option, std::move(logger));
  const Json config = parse_json_object(option, "checkpoint_storage");
  if (config.value("type", Json()) == "shared_fs")
    throw Error(Code::invalid,
                "reading checkpoint_storage: an object of type shared_fs is not allowed here; give "
                "the directory itself as a path");
  return storage::make_storage(config, std::nullopt, std::move(logger));
}

std::unique_ptr<storage::Storage> storage_from_config(const Json &config,
                                                      const std::optional<std::string> &mounted,
                                                      std::shared_ptr<Logger> logger) {
  if (!config.is_object()) return nullptr;
  const auto section = config.find("checkpoint_storage");
  if (section == config.end() || section->is_null()) return nullptr;
  if (section->is_string()) return storage::make_storage_from_uri(*section, std::move(logger));
  return storage::make_storage(*section, mounted, std::move(logger));
}

std::unique_ptr<storage::Storage> storage_of_chief(const Json &told, const CoreOptions &options,
                                                   const Json &config,
                                                   const std::shared_ptr<Logger> &logger) {
  const std::string type = told.value("type", "");
  if (type != "shared_fs" && type != "directory") {
    std::unique_ptr<storage::Storage> own;
    if (!options.checkpoint_storage.empty())
      own = storage_from_option(options.checkpoint_storage, logger);
    if (own && own->config() == told) return own;
    own = storage_from_config(config, std::nullopt, logger);
    if (own && own->config() == told) return own;
  }
  return storage::make_storage(told, std::nullopt, logger);
}

}  // namespace det::context
