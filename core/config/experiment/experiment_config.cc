#include "core/config/experiment/experiment_config.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/config/experiment/check.h"
#include "core/config/experiment/schema.h"
#include "core/config/experiment/sections.h"
#include "core/config/experiment/transform.h"
#include "core/config/experiment/yaml.h"

namespace det::config {

namespace {

// What fills a configuration besides the defaults that the schema has.
constexpr std::array<const char *, 32> qualities = {
    "able",  "amber",  "blue",  "bold",  "brave", "brisk", "calm", "clear",
    "cool",  "crisp",  "deep",  "eager", "early", "fair",  "fast", "fine",
    "fresh", "gentle", "glad",  "green", "grand", "keen",  "kind", "light",
    "loud",  "lucky",  "merry", "quick", "quiet", "red",   "warm", "wise"};
constexpr std::array<const char *, 32> things = {
    "acorn", "badger", "beech", "brook", "cedar", "cloud", "comet",  "crane",
    "dune",  "eagle",  "elm",   "fern",  "finch", "fox",   "grove",  "hare",
    "hawk",  "heron",  "hill",  "lake",  "lark",  "maple", "meadow", "moon",
    "oak",   "otter",  "pine",  "raven", "river", "stone", "tide",   "wren"};

template <size_t n>
const char *pick(const std::array<const char *, n> &words, std::random_device &random) {
  return words[random() % n];
}

void take(const Json &defaults, const char *key, Json &into) {
  if (const Json &value = config_member(defaults, key); !value.is_null()) into[key] = value;
}

void prepend(const Json &defaults, const char *section, const char *key, Json &config) {
  const Json &lower = config_member(config_member(defaults, section), key);
  const Json &mine = config_member(config_member(config, section), key);
  if (!lower.is_array() || !mine.is_array()) return;
  Json both = lower;
  both.insert(both.end(), mine.begin(), mine.end());
  config[section][key] = std::move(both);
}

// The defaults of a pool's containers, as a configuration.
Json config_of_container_defaults(const Json &defaults) {
  Json lower = Json::object();
  Json environment = Json::object();
  for (const char *key : {"image", "environment_variables", "force_pull_image", "registry_auth",
                          "add_capabilities", "drop_capabilities"})
    take(defaults, key, environment);
  if (Json &image = environment["image"]; image.is_object()) {
    // A device that a map of images leaves out has none, rather than the default one.
    const bool has_cuda = image.contains("cuda") || image.contains("gpu");
    if (!image.contains("cpu")) image["cpu"] = "";
    if (!has_cuda) image["cuda"] = "";
    if (!image.contains("rocm")) image["rocm"] = "";
  }
  lower["environment"] = std::move(environment);
  for (const char *key : {"bind_mounts", "log_policies", "preemption_timeout", "slurm", "pbs"})
    take(defaults, key, lower);
  Json resources = Json::object();
  take(defaults, "devices", resources);
  lower["resources"] = std::move(resources);
  return lower;
}

// Puts the arguments that such defaults have for a batch system before those of `config`: no other
// lists are put together.
void prepend_batch_arguments(const Json &defaults, Json &config) {
  prepend(defaults, "slurm", "sbatch_args", config);
  prepend(defaults, "pbs", "pbsbatch_args", config);
}

// "Experiment (calm-red-river)", of random words.
std::string random_experiment_name() {
  std::random_device random;
  return std::string("Experiment (") + pick(qualities, random) + "-" + pick(qualities, random) +
         "-" + pick(things, random) + ")";
}

// The time in seconds, as far as 32 bits take it.
uint32_t clock_seed() {
  using std::chrono::system_clock;
  return static_cast<uint32_t>(system_clock::to_time_t(system_clock::now()));
}

// Collects the problems of a configuration, and finds their lines.
class ConfigProblems {
 public:
  ConfigProblems(std::string file_name, const YamlDocument &document)
      : file_name_(std::move(file_name)), document_(document) {}

  // What a checker of this stage reports. A later stage sees the same values again: of a section
  // that has problems already it may only add what is missing.
  ConfigChecker::Report reporter(ConfigStage stage);
  bool has_any(const std::string &section) const;
  void throw_if_any() const;

 private:
  bool is_known(const ConfigProblem &problem) const;

  struct Line {
    int number;
    bool is_exact;  // else it is that of the nearest object around, since the file has no more
  };
  Line line_of(const ConfigPath &at) const;

  std::string file_name_;
  const YamlDocument &document_;
  std::vector<ConfigProblem> problems_;
};

// ".searcher" of ".searcher.metric".
std::string section_of(const std::string &path) {
  return path.substr(0, path.find_first_of(".[", 1));
}

// The number of the element that one step of a path leads to; the size where there is none.
size_t position_of(const Json &value, const ConfigPath &step) {
  if (value.is_array() && step.is_index) return step.index;
  if (!value.is_object() || step.is_index) return value.size();
  const auto found = value.find(std::string(step.key));
  return static_cast<size_t>(std::distance(value.begin(), found));
}

std::string summary(const std::string &file_name, const std::vector<ConfigProblem> &problems) {
  const size_t more = problems.size() - 1;
  std::string text = "reading a configuration: " + describe(file_name, problems.front());
  if (more > 0)
    text += "; and " + std::to_string(more) + " more problem" + (more > 1 ? "s" : "") +
            ", which 'det config check' lists";
  return text;
}

ConfigChecker::Report ConfigProblems::reporter(ConfigStage stage) {
  return [this, stage](const ConfigPath &at, const std::string &kind, const std::string &message,
                       const std::string &key, const ConfigPath &place) {
    const Line line = line_of(place);
    ConfigProblem problem{at.text(), kind, key, line.number, message, stage};
    if (stage != ConfigStage::parse && kind != "missing_required" && !line.is_exact &&
        at.parent != nullptr)
      problem.message += "; it comes from the template, or from a default";
    if (!is_known(problem)) problems_.push_back(std::move(problem));
  };
}

bool ConfigProblems::has_any(const std::string &section) const {
  return std::any_of(problems_.begin(), problems_.end(), [&](const ConfigProblem &problem) {
    return section_of(problem.path) == "." + section;
  });
}

bool ConfigProblems::is_known(const ConfigProblem &problem) const {
  return std::any_of(problems_.begin(), problems_.end(), [&](const ConfigProblem &earlier) {
    if (std::tie(earlier.path, earlier.kind, earlier.key, earlier.message) ==
        std::tie(problem.path, problem.kind, problem.key, problem.message))
      return true;
    return earlier.stage < problem.stage && problem.kind != "missing_required" &&
           !problem.path.empty() && section_of(earlier.path) == section_of(problem.path);
  });
}

// That of the last step which the file itself has: others come from other sources, or are missing.
ConfigProblems::Line ConfigProblems::line_of(const ConfigPath &at) const {
  std::vector<const ConfigPath *> steps;
  for (const ConfigPath *step = &at; step->parent != nullptr; step = step->parent)
    steps.push_back(step);
  std::reverse(steps.begin(), steps.end());
  const Json *value = &document_.value;
  const YamlPlace *place = &document_.place;
  for (const ConfigPath *step : steps) {
    const size_t position = position_of(*value, *step);
    if (position >= place->children.size()) return {place->line, false};
    value = &*std::next(value->begin(), static_cast<std::ptrdiff_t>(position));
    place = &place->children[position];
  }
  return {place->line, true};
}

void ConfigProblems::throw_if_any() const {
  if (problems_.empty()) return;
  std::vector<ConfigProblem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return std::tie(a.stage, a.line) < std::tie(b.stage, b.line);
  });
  throw ConfigError(file_name_, std::move(sorted));
}

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

std::string describe(const std::string &file_name, const ConfigProblem &problem) {
  std::string place;
  for (const int number : {problem.line, problem.column})
    if (number > 0) place += ":" + std::to_string(number);
  return file_name + place + ": <config>" + problem.path + ": " +
         (problem.is_warning ? "warning: " : "") + problem.message;
}

Json to_json(const ConfigProblem &problem) {
  return {{"path", "<config>" + problem.path},
          {"kind", problem.kind},
          {"key", problem.key.empty() ? Json() : Json(problem.key)},
          {"line", problem.line},
          {"column", problem.column > 0 ? Json(problem.column) : Json()},
          {"message", problem.message},
          {"severity", problem.is_warning ? "warning" : "error"}};
}

ConfigError::ConfigError(const std::string &file_name, std::vector<ConfigProblem> found)
    : Error(Code::invalid, summary(file_name, found)), problems(std::move(found)) {}

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
