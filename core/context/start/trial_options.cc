#include "core/context/start/trial_options.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/text/dotted_name.h"
#include "core/base/text/utf8.h"
#include "core/config/trial_variables.h"
#include "core/search/single.h"
#include "core/storage/storage_location.h"

namespace det::context {

namespace {

struct GivenText {
  const std::string &text;
  const char *origin;
};

Json parse_object_or_null(const GivenText &given) {
  return given.text.empty() ? Json() : parse_json_object(given.text, given.origin);
}

using Overridden = std::vector<std::string>;

std::string text_from_outside(const GivenText &program, const GivenText &outside,
                              Overridden &overridden) {
  if (outside.text.empty()) return program.text;
  if (!program.text.empty() && program.text != outside.text)
    overridden.push_back(std::string(program.origin) + " is '" + outside.text + "', from " +
                         outside.origin + ", in place of '" + program.text + "' of the program");
  return outside.text;
}

// A storage is one choice: parts of two make none.
void lay_over(Json &values, const Json &outside, const std::string &name, const char *origin,
              Overridden &overridden) {
  for (const auto &[key, value] : outside.items()) {
    Json &before = values[key];
    const std::string full = name.empty() ? key : name + "." + key;
    const bool is_storage = full == "checkpoint_storage" && value.contains("type");
    if (before.is_object() && value.is_object() && !is_storage) {
      lay_over(before, value, full, origin, overridden);
      continue;
    }
    if (!before.is_null() && before != value)
      overridden.push_back(full + " comes from " + origin + ", in place of that of the program");
    before = value;
  }
}

// Of a run that a supervisor started, the records have what the variables are too short for.
Json object_from_outside(const Json &program, const GivenText &outside, bool supervised,
                         Overridden &overridden) {
  Json given = parse_object_or_null(outside);
  if (supervised) return given;
  if (given.is_null() || !program.is_object()) return given.is_null() ? program : given;
  Json values = program;
  lay_over(values, given, "", outside.origin, overridden);
  return values;
}

Json constants_of(const Json &config) {
  try {
    return config.is_object() && config.contains("hyperparameters")
               ? search::constant_hparams(config)
               : Json();
  } catch (const Error &) {
    return {};  // whoever makes the trial says what is wrong
  }
}

// "name: given (recorded stays)", of what differs.
std::string ignored(const std::string &what, const std::string &name, const Json &given,
                    const Json *recorded) {
  if (recorded != nullptr && *recorded == given) return {};
  return what + name + ": " + given.dump() + " (" +
         (recorded != nullptr ? recorded->dump() + " stays" : "it has none") + ")";
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
  const bool supervised = trial.run_id != 0;
  trial.external_id =
      text_from_outside({options.external_id, "external_id"},
                        {variables.external_id, "the variable DET_EXTERNAL_ID"}, trial.overridden);
  trial.external_experiment_id = text_from_outside(
      {options.external_experiment_id, "external_experiment_id"},
      {variables.external_experiment_id, "the variable DET_EXTERNAL_EXPERIMENT_ID"},
      trial.overridden);
  const GivenText config{variables.config_text, "the variable DET_EXPERIMENT_CONFIG"};
  trial.config = object_from_outside(parse_object_or_null({options.config_text, "config_json"}),
                                     config, supervised, trial.overridden);
  trial.config_origin = config.text.empty() ? "config_json" : config.origin;
  Json hparams = parse_object_or_null({options.hparams_text, "hparams_json"});
  if (hparams.is_null() && !variables.hparams_text.empty()) hparams = constants_of(trial.config);
  trial.hparams = object_from_outside(hparams, {variables.hparams_text, "the variable DET_HPARAMS"},
                                      supervised, trial.overridden);
  trial.name = options.name;
  if (trial.name.empty() && trial.config.is_object())
    if (const Json name = trial.config.value("name", Json()); name.is_string())
      trial.name = name.get<std::string>();
  require_utf8(trial.name, "the name of the experiment");
  require_utf8(trial.external_id, "the external id of the trial");
  require_utf8(trial.external_experiment_id, "the external id of the experiment");
  return trial;
}

void tell_ignored(const TrialOptions &given, const engine::RunInfo &run, bool with_config,
                  Logger &logger) {
  std::vector<std::string> found;
  const auto note = [&](const std::string &text) {
    if (!text.empty()) found.push_back(text);
  };
  each_dotted_name(
      given.hparams.is_object() ? given.hparams : constants_of(given.config),
      [&](const std::string &name, const Json &value) {
        note(ignored("hyperparameter ", name, value, find_by_dotted_name(run.hparams, name)));
      });
  if (with_config && given.config.is_object()) {
    each_dotted_name(given.config, [&](const std::string &name, const Json &value) {
      const std::string section = name.substr(0, name.find('.'));
      if (value.is_null() || section == "hyperparameters" || section == "checkpoint_storage" ||
          section == "name" || name.starts_with("searcher.max_length"))
        return;
      const Json *recorded = find_by_dotted_name(run.config, name);
      // Other sections may hold what is not for logs.
      if (section == "searcher") note(ignored("", name, value, recorded));
      else if (recorded == nullptr || *recorded != value) found.push_back(name);
    });
    if (given.config.contains("searcher")) {
      const Json length = search::single_length(run.config);
      note(ignored("", "searcher.max_length", search::single_length(given.config), &length));
    }
  }
  if (found.empty()) return;
  std::string list;
  for (const std::string &one : found) list += (list.empty() ? "" : ", ") + one;
  logger.warning("continuing trial " + std::to_string(run.trial_id) +
                 (given.external_id.empty() || given.trial_id != 0
                      ? ""  // a trial that its id names may have another
                      : " ('" + given.external_id + "')") +
                 " with the values that it began with: what is given now is ignored for " + list +
                 "; for a trial with these, give another external_id");
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
  if (section == config.end() || !storage::says_where(*section)) return nullptr;
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
