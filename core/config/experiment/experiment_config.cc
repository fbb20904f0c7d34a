#include "core/config/experiment/experiment_config.h"

#include "core/config/experiment/check.h"
#include "core/config/experiment/defaults.h"
#include "core/config/experiment/problems.h"
#include "core/config/experiment/sections.h"
#include "core/config/experiment/transform.h"
#include "core/config/experiment/yaml.h"

namespace det::config {

namespace {

const ConfigPath root;

YamlDocument read_document(const ExperimentConfigSources &sources) {
  try {
    return read_yaml(sources.text);
  } catch (const YamlError &e) {
    ConfigProblem problem{"", "yaml", "", e.line, std::string("not valid YAML: ") + e.what()};
    problem.column = e.column;
    throw ConfigError(sources.file_name, {problem});
  }
}

// Whether there is anything to check: an object, of the one version there is.
bool check_version(ConfigChecker &checker, const Json &config) {
  if (!config.is_object()) {
    checker.report(root, config.is_null() ? "wrong_type" : "decode",
                   "expected an object, found " + found_value(config));
    return false;
  }
  const Json &version = config_member(config, "version");
  if (!version.is_null() && !is_whole(version))
    checker.report(root / "version", "decode",
                   "expected an integer, found " + found_value(version));
  else if (!version.is_null() && version != 0)
    checker.report(root / "version", "version",
                   "there is no version " + version.dump() + "; leave it out");
  return version.is_null() || version == 0;
}

void check_as_written(const YamlDocument &document, ConfigRules rules, ConfigProblems &problems) {
  ConfigChecker checker(false, problems.reporter(ConfigStage::parse));
  if (check_version(checker, document.value))
    checker.check(experiment_schema(rules), document.value, root);
  else problems.throw_if_any();
}

Json merge_sources(const ConfigSchema &schema, const ExperimentConfigSources &sources,
                   const Json &user) {
  Json config = decode_config(schema, user);
  const auto fill_from = [&](const Json &lower) {
    config = merge_config(schema, config, decode_config(schema, lower));
  };
  fill_from(sources.config_template);
  if (!sources.task_container_defaults.is_null()) {
    prepend_batch_arguments(sources.task_container_defaults, config);
    fill_from(config_of_container_defaults(sources.task_container_defaults));
  }
  for (const Json &storage : {sources.workspace_storage, sources.master_storage})
    if (!storage.is_null()) fill_from({{"checkpoint_storage", storage}});
  fill_from({{"log_policies", default_log_policies(sources.rules)}});
  return config;
}

void fill_runtime_defaults(Json &config) {
  if (config_member(config, "name").is_null()) config["name"] = random_experiment_name();
  Json &reproducibility = config["reproducibility"];
  const bool has_seed = !config_member(reproducibility, "experiment_seed").is_null();
  if (!has_seed && (reproducibility.is_null() || reproducibility.is_object()))
    reproducibility["experiment_seed"] = clock_seed();
}

void check_whole(ConfigChecker &checker, const Json &config, bool managed) {
  const auto is_empty = [&](const char *key) { return config_member(config, key) == ""; };
  if (is_empty("workspace") != is_empty("project"))
    checker.report(root, "workspace_project_pair",
                   "'workspace' and 'project' must both be given, or neither",
                   is_empty("workspace") ? "workspace" : "project");
  if (managed && config_member(config, "entrypoint").is_null())
    checker.report(root, "entrypoint_required",
                   "'entrypoint' is missing: it says how a trial is started", "entrypoint");
}

}  // namespace

Json store_storage(const std::filesystem::path &home) {
  return {{"type", "shared_fs"}, {"host_path", home.string()}};
}

Json read_experiment_config(const ExperimentConfigSources &sources,
                            std::vector<ConfigProblem> *warnings) {
  const YamlDocument document = read_document(sources);
  if (warnings != nullptr)
    for (const YamlWarning &found : document.warnings)
      warnings->push_back(
          {found.path, found.kind, found.key, found.line, found.message, ConfigStage::parse, true});
  const ConfigSchema &schema = experiment_schema(sources.rules);
  ConfigProblems problems(sources.file_name, document);

  check_as_written(document, sources.rules, problems);

  // Goes on with a configuration that has problems, to find them all at once.
  Json config = merge_sources(schema, sources, document.value);
  fill_runtime_defaults(config);
  config = fill_config(schema, config);
  ConfigChecker as_completed(true, problems.reporter(ConfigStage::complete));
  as_completed.check(schema, config, root);
  check_whole(as_completed, config, sources.managed);

  const bool has_searcher = config_member(config, "searcher").is_object();
  if (has_searcher && !problems.has_any("searcher") && !problems.has_any("hyperparameters")) {
    ConfigChecker as_searched(true, problems.reporter(ConfigStage::search));
    check_search(as_searched, config, sources.rules);
  }
  problems.throw_if_any();
  if (sources.also_check) {
    ConfigChecker as_wanted(true, problems.reporter(ConfigStage::search));
    sources.also_check(as_wanted, config);
    problems.throw_if_any();
  }
  return config;
}

void check_written_config(const Json &config, const std::string &origin) {
  const YamlDocument document{config, {.line = 0, .children = {}}, {}};
  const auto check = [&](ConfigRules rules) {
    ConfigProblems problems(origin, document);
    check_as_written(document, rules, problems);
    problems.throw_if_any();
  };
  try {
    check(ConfigRules::v0_38);
  } catch (const ConfigError &) {
    check(ConfigRules::v0_33);
  }
}

}  // namespace det::config
