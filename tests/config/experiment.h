// Reads configurations for tests, and tells what is wrong with them.
#pragma once

#include <set>
#include <string>
#include <tuple>

#include "core/config/experiment/experiment_config.h"
#include "tests/expect_error.h"

namespace det::config {

// The least that a configuration needs, besides what a test is about.
constexpr const char *minimal =
    "entrypoint: model_def:Trial\n"
    "searcher: {name: single, metric: loss, max_length: {batches: 100}}\n";

inline ExperimentConfigSources sources_of(const std::string &text,
                                          ConfigRules rules = ConfigRules::v0_33) {
  ExperimentConfigSources sources;
  sources.text = text;
  sources.file_name = "exp.yaml";
  sources.master_storage = {
      {"type", "shared_fs"}, {"host_path", "/srv/ckpt"}, {"storage_path", "det"}};
  sources.rules = rules;
  return sources;
}

inline std::vector<ConfigProblem> problems_of(const ExperimentConfigSources &sources) {
  try {
    read_experiment_config(sources);
    return {};
  } catch (const ConfigError &e) {
    assert_int_equal(static_cast<int>(e.code), static_cast<int>(Code::invalid));
    assert_false(e.problems.empty());
    assert_false(contains(e.what(), "\n"));
    return e.problems;
  }
}

// "line path kind key" of each problem, in their order.
inline std::string problems_in(const std::string &text, ConfigRules rules = ConfigRules::v0_33) {
  std::string all;
  for (const ConfigProblem &problem : problems_of(sources_of(text, rules)))
    all += std::to_string(problem.line) + " " + problem.path + " " + problem.kind +
           (problem.key.empty() ? "" : " " + problem.key) + "\n";
  return all;
}

inline Json complete(const std::string &text, ConfigRules rules = ConfigRules::v0_33) {
  return read_experiment_config(sources_of(text, rules));
}

inline Json with_minimal(const std::string &text) { return complete(minimal + text); }

inline std::string problems_with_minimal(const std::string &text) {
  return problems_in(minimal + text);
}

inline void expect_problems(const std::string &text, const char *expected) {
  assert_string_equal(problems_with_minimal(text).c_str(), expected);
}

// The message of the only problem.
inline std::string message_in(const std::string &text) {
  const std::vector<ConfigProblem> problems = problems_of(sources_of(text));
  assert_int_equal(problems.size(), 1);
  return describe("exp.yaml", problems.front());
}

}  // namespace det::config
