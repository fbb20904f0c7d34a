// What the original made of hundreds of configurations, in both releases. Where ours differs, it
// does so on purpose: docs/experiment-config.md says why.
#include <fstream>
#include <map>
#include <optional>

#include "core/base/file.h"
#include "core/config/experiment/yaml.h"
#include "tests/config/experiment.h"

namespace det::config {

namespace {

const char *const topics[] = {"toplevel", "searcher",     "hyperparameters", "lengths",
                              "storage",  "resources",    "environment",     "sections",
                              "merge",    "log_policies", "many_errors",     "yaml"};

struct Release {
  const char *version;
  ConfigRules rules;
};
const Release releases[] = {{"0.33.0", ConfigRules::v0_33}, {"0.38.1", ConfigRules::v0_38}};

using Found = std::set<std::tuple<std::string, std::string, std::string>>;

// What ours answers instead: the value of the section that differs, or the problems.
struct Deviation {
  std::optional<Json> section;
  Found problems;
};
const std::map<std::string, Deviation> deviations = {
    // The grid rule waits until the searcher is known.
    {"hyperparameters/no-searcher-no-count", {{}, {{"", "missing_required", "searcher"}}}},
    {"hyperparameters/searcher-without-name-no-count",
     {{}, {{".searcher", "missing_required", "name"}}}},
    {"hyperparameters/searcher-null-no-count", {{}, {{"", "missing_required", "searcher"}}}},
    // Searches that would never end, or fail.
    {"searcher/grid", {{}, {{".hyperparameters", "rule", ""}}}},
    {"hyperparameters/grid-empty", {{}, {{".hyperparameters", "rule", ""}}}},
    {"hyperparameters/categorical-empty", {{}, {{".hyperparameters.a.vals", "rule", ""}}}},
    {"searcher/adaptive-bracket-rungs-bad",
     {{},
      {{".searcher.bracket_rungs[0]", "out_of_range", ""},
       {".searcher.bracket_rungs[1]", "out_of_range", ""}}}},
    {"searcher/asha-max-time-0", {{}, {{".searcher.max_time", "out_of_range", ""}}}},
    // Beside the host path is not below it.
    {"storage/shared-fs-abs-prefix-trick", {{}, {{".checkpoint_storage", "rule", ""}}}},
    // Keys of our own.
    {"storage/s3-extra",
     {{{{"type", "s3"},
        {"bucket", "b"},
        {"region", "us"},
        {"access_key", nullptr},
        {"secret_key", nullptr},
        {"endpoint_url", nullptr},
        {"prefix", nullptr},
        {"save_experiment_best", 0},
        {"save_trial_best", 1},
        {"save_trial_latest", 1}}},
      {}}},
    // Trials have it.
    {"toplevel/data-layer",
     {{{{"data_layer", {{"type", "shared_fs"}, {"host_storage_path", "/x"}}}}}, {}}},
    // Sizes of memory as texts.
    {"resources/shm-str-bytes", {{4096}, {}}},
    {"resources/shm-g", {{int64_t{2} << 30}, {}}},
    {"resources/shm-Gi-upper", {{int64_t{4} << 30}, {}}},
    {"resources/shm-mixed", {{64 << 20}, {}}},
    {"resources/shm-p", {{1125899906842}, {}}},
    {"resources/shm-b", {{1219021}, {}}},
    // A pod is kept as it was given.
    {"environment/pod-spec-name", {{{{"metadata", {{"name", "x"}}}}}, {}}},
    {"environment/pod-spec-camel-case",
     {{{{"spec",
         {{"containers",
           {{{"name", "determined-container"},
             {"workingDir", "/w"},
             {"imagePullPolicy", "Always"}}}}}}}},
      {}}},
};

Json load(const std::string &name) {
  return Json::parse(read_file(std::string(TEST_DATA "/config/") + name + ".json"));
}

ExperimentConfigSources sources_of_case(const Json &one, ConfigRules rules) {
  ExperimentConfigSources sources = sources_of(one["yaml"].get<std::string>(), rules);
  const auto read = [&](const char *key, Json &into) {
    if (one.contains(key)) into = read_yaml(one[key].get<std::string>()).value;
  };
  read("template", sources.config_template);
  read("task_container_defaults", sources.task_container_defaults);
  read("workspace_storage", sources.workspace_storage);
  read("master_storage", sources.master_storage);
  sources.managed = !one.value("unmanaged", false);
  return sources;
}

// The original stops at the first stage that has problems.
Found found_problems(const std::vector<ConfigProblem> &problems) {
  Found found;
  for (const ConfigProblem &problem : problems)
    if (problem.stage == problems.front().stage)
      found.insert({problem.path, problem.kind, problem.key});
  return found;
}

// A problem that the original has no path for may be anywhere, and name a key.
bool matches(const Json &expected, const Found &found) {
  Found wanted, placed;
  std::multiset<std::string> wanted_anywhere, anywhere;
  for (const Json &problem : expected) {
    if (problem["path"].is_null()) {
      wanted_anywhere.insert(problem["kind"].get<std::string>());
      continue;
    }
    for (const Json &key : problem.value("keys", Json::array({""})))
      wanted.emplace(problem["path"].get<std::string>(), problem["kind"].get<std::string>(),
                     key.get<std::string>());
  }
  for (const auto &problem : found) {
    if (wanted_anywhere.count(std::get<1>(problem)) > 0) anywhere.insert(std::get<1>(problem));
    else placed.insert(problem);
  }
  const std::set<std::string> kinds(anywhere.begin(), anywhere.end());
  return wanted == placed &&
         kinds == std::set<std::string>(wanted_anywhere.begin(), wanted_anywhere.end());
}

nlohmann::json unordered(const Json &value) { return nlohmann::json::parse(value.dump()); }

std::string listed(const Found &found) {
  std::string all;
  for (const auto &[path, kind, key] : found) all += " (" + path + " " + kind + " " + key + ")";
  return all.empty() ? " nothing" : all;
}

// What is different, or nothing.
std::string compare_config(const Json &one, const Json &defaults, Json config,
                           const Deviation *deviation) {
  Json expected = defaults;
  const Json changed = one.value("result_changed", Json::object());
  for (const auto &[key, value] : changed.items()) expected[key] = value;
  if (expected["name"] == "<generated>") {
    const std::string generated = config["name"].get<std::string>();
    if (!generated.starts_with("Experiment (") || !generated.ends_with(")")) return generated;
    config["name"] = expected["name"];
  }
  if (expected["reproducibility"]["experiment_seed"] == "<now>")
    config["reproducibility"] = expected["reproducibility"];
  if (deviation != nullptr && deviation->section->contains("type")) {
    expected["checkpoint_storage"] = *deviation->section;
  } else if (deviation != nullptr && deviation->section->contains("data_layer")) {
    expected.update(*deviation->section);
  } else if (deviation != nullptr) {
    const char *section = config["environment"]["pod_spec"].is_null() ? "resources" : "environment";
    const char *key = config["environment"]["pod_spec"].is_null() ? "shm_size" : "pod_spec";
    expected[section][key] = *deviation->section;
  }
  const nlohmann::json difference = nlohmann::json::diff(unordered(expected), unordered(config));
  return difference.empty() ? "" : difference.dump();
}

std::string compare(const Json &one, const Release &release, const Json &defaults,
                    const Deviation *deviation) {
  const ExperimentConfigSources sources = sources_of_case(one, release.rules);
  const std::vector<ConfigProblem> problems = problems_of(sources);
  const Found found = problems.empty() ? Found() : found_problems(problems);
  const bool ok = one["ok"].get<bool>();
  // A release that refuses it anyhow does so as the original does.
  if (!ok && matches(one["errors"], found)) return "";
  if (deviation != nullptr && !deviation->section)
    return found == deviation->problems ? "" : "found" + listed(found);
  if (!found.empty() || (!ok && deviation == nullptr))
    return "found" + listed(found) + ", expected " + one.value("errors", Json()).dump();
  return compare_config(one, defaults, read_experiment_config(sources), deviation);
}

void every_configuration_is_read_as_by_the_original(void **) {
  size_t cases = 0, failures = 0;
  for (const Release &release : releases) {
    const Json defaults = load(std::string("defaults-") + release.version);
    for (const char *topic : topics)
      for (const Json &one : load(topic)) {
        const Json &versions = one["version"];
        if (std::find(versions.begin(), versions.end(), release.version) == versions.end())
          continue;
        const std::string name = topic + ("/" + one["name"].get<std::string>());
        const auto deviation = deviations.find(name);
        const std::string difference = compare(
            one, release, defaults, deviation != deviations.end() ? &deviation->second : nullptr);
        ++cases;
        if (difference.empty()) continue;
        ++failures;
        print_error("%s, %s: %s\n", name.c_str(), release.version, difference.c_str());
      }
  }
  assert_int_equal(failures, 0);
  assert_int_equal(cases, 742);
}

void every_deviation_has_its_case_and_stands_in_the_docs(void **) {
  const std::string docs = read_file(EXPERIMENT_DOCS);
  std::set<std::string> names;
  for (const char *topic : topics)
    for (const Json &one : load(topic))
      names.insert(topic + ("/" + one["name"].get<std::string>()));
  for (const auto &[name, deviation] : deviations) {
    assert_int_equal(names.count(name), 1);
    if (!contains(docs, "`" + name + "`")) print_error("%s is not in the docs\n", name.c_str());
    assert_true(contains(docs, "`" + name + "`"));
  }
}

}  // namespace

}  // namespace det::config

int test_vectors() {
  using namespace det::config;
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_configuration_is_read_as_by_the_original),
      cmocka_unit_test(every_deviation_has_its_case_and_stands_in_the_docs),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
