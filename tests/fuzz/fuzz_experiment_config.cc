// Any bytes as a configuration: read, or refused with problems that have a line. What is complete
// is read again as it is.
#include <algorithm>
#include <cstdlib>

#include "core/config/experiment/experiment_config.h"

namespace {

det::config::ExperimentConfigSources sources_of(std::string text, det::config::ConfigRules rules) {
  det::config::ExperimentConfigSources sources;
  sources.text = std::move(text);
  sources.master_storage = det::config::store_storage("/store");
  sources.rules = rules;
  return sources;
}

void check(const det::config::ConfigError &error, const std::string &text) {
  const auto lines =
      std::count(text.begin(), text.end(), '\n') + std::count(text.begin(), text.end(), '\r') + 2;
  if (error.problems.empty()) std::abort();
  for (const det::config::ConfigProblem &problem : error.problems)
    if (problem.kind.empty() || problem.message.empty() || problem.line < 1 || problem.line > lines)
      std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  for (const auto rules : {det::config::ConfigRules::v0_33, det::config::ConfigRules::v0_38}) {
    det::Json config;
    try {
      config = det::config::read_experiment_config(sources_of(text, rules));
    } catch (const det::config::ConfigError &error) {
      check(error, text);
      continue;
    }
    try {
      if (det::config::read_experiment_config(sources_of(config.dump(), rules)) != config)
        std::abort();
    } catch (const det::config::ConfigError &error) {
      // Written out it may be beyond the bounds that the shorthands kept.
      if (error.problems.front().kind != "yaml") throw;
    }
  }
  return 0;
}
