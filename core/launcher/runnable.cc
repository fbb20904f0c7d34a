#include "core/launcher/runnable.h"

#include "core/base/error.h"
#include "core/launcher/entrypoint.h"
#include "core/launcher/log_policies.h"
#include "core/launcher/run_policy.h"
#include "core/launcher/trial_launch.h"

namespace det::launcher {

namespace {

std::optional<std::string> slots_problem(const RunPolicy &policy) {
  if (policy.allows_another(0)) return std::nullopt;
  return "each trial needs " + std::to_string(policy.slots_per_trial) +
         " slots (resources.slots_per_trial), and all trials together may have " +
         std::to_string(policy.max_slots) +
         " (resources.max_slots); raise that, or lower the other";
}

void check_patterns(config::ConfigChecker &checker, const Json &policies) {
  if (!policies.is_array()) return;
  const config::ConfigPath whole;
  const config::ConfigPath section = whole / "log_policies";
  for (size_t i = 0; i < policies.size(); ++i) {
    const Json pattern = policies[i].value("pattern", Json());
    if (!pattern.is_string()) continue;
    const auto problem = pattern_problem(pattern.get<std::string>());
    if (problem) checker.report(section[i], "rule", *problem, {}, "pattern");
  }
}

void check_search_runs(config::ConfigChecker &checker, const Json &config,
                       search::SearchRules rules) {
  try {
    search::make_search(config, rules);
  } catch (const Error &error) {
    if (error.code != Code::invalid) throw;
    const std::string_view prefix = "reading the configuration: ";
    std::string message = error.what();
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
    const config::ConfigPath whole;
    checker.report(whole / "searcher", "searcher_not_runnable", message, {}, "name");
  }
}

}  // namespace

void check_runnable(config::ConfigChecker &checker, const Json &config, search::SearchRules rules) {
  const config::ConfigPath whole;
  if (const auto problem = slots_problem(run_policy(config)))
    checker.report(whole / "resources", "rule", *problem, {}, "max_slots");
  check_patterns(checker, config.value("log_policies", Json()));
  check_search_runs(checker, config, rules);
}

void require_runnable(const Json &config, const engine::LaunchPlan &plan,
                      const Launcher &launcher) {
  const std::string tried = "running an experiment: ";
  const RunPolicy policy = run_policy(config);
  if (const auto problem = slots_problem(policy)) throw Error(Code::invalid, tried + *problem);
  if (policy.slots_per_trial > launcher.total_slots())
    throw Error(Code::invalid,
                tried + "each trial needs " + std::to_string(policy.slots_per_trial) +
                    " slots (resources.slots_per_trial), and there are " +
                    std::to_string(launcher.total_slots()) + " here; give --slots, or lower it");
  const LogPolicies patterns(config);
  const TrialLaunch launch = trial_launch(config, plan, launcher.has_gpus());
  launcher.check(launch);
  require_python_trial(launch);
}

}  // namespace det::launcher
