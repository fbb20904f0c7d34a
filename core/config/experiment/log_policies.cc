// The section `log_policies`: what a line in a trial's log makes happen.
#include <set>

#include "core/config/experiment/check.h"
#include "core/config/experiment/sections.h"

namespace det::config {

namespace {

bool is_action(const Json &value) { return value == "cancel_retries" || value == "exclude_node"; }

// {type: ACTION}
bool is_action_object(const Json &value) {
  return value.is_object() && value.size() == 1 && is_action(config_member(value, "type"));
}

bool check_action_object(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (!is_action_object(value))
    checker.report(
        at, "no_alternative",
        "must be {type: cancel_retries} or {type: exclude_node}, found " + found_value(value));
  return false;
}

bool check_action(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (!is_action(value) && !is_action_object(value))
    checker.report(at, "no_alternative",
                   "must be 'cancel_retries' or 'exclude_node', found " + found_value(value));
  return false;
}

Json decode_action(Json value) {
  return is_action_object(value) ? config_member(value, "type") : value;
}

bool check_policy(ConfigChecker &checker, const Json &policy, const ConfigPath &at) {
  if (config_member(policy, "name").is_null() &&
      (config_member(policy, "pattern").is_null() || config_member(policy, "action").is_null()))
    checker.report(at, "rule", "a policy without 'name' needs both 'pattern' and 'action'");
  return true;
}

bool check_names(ConfigChecker &checker, const Json &policies, const ConfigPath &at) {
  std::set<std::string> names;
  for (size_t i = 0; i < policies.size(); ++i) {
    const Json &name = config_member(policies[i], "name");
    if (name.is_string() && !names.insert(name.get<std::string>()).second)
      checker.report(
          at[i], "decode",
          "the name '" + name.get<std::string>() + "' is already that of another policy");
  }
  return true;
}

// In whatever order their keys are written.
Json without_repeats(Json policies) {
  if (!policies.is_array()) return policies;
  std::set<std::string> seen;
  Json once = Json::array();
  for (Json &policy : policies)
    if (seen.insert(nlohmann::json(policy).dump()).second) once.push_back(std::move(policy));
  return once;
}

Json append_first(const ConfigSchema &, const Json &first, const Json &second) {
  if (!first.is_array() || !second.is_array()) return first;
  Json all = second;
  all.insert(all.end(), first.begin(), first.end());
  return without_repeats(std::move(all));
}

// What makes it the same policy in two sources.
std::string identity_of(const Json &policy) {
  const Json &name = config_member(policy, "name");
  if (!name.is_null()) return name.dump();
  return Json({config_member(policy, "pattern"), config_member(policy, "action")}).dump();
}

Json append_unseen(const ConfigSchema &, const Json &first, const Json &second) {
  if (!first.is_array() || !second.is_array()) return first;
  std::set<std::string> seen;
  for (const Json &policy : first) seen.insert(identity_of(policy));
  Json all = first;
  for (const Json &policy : second)
    if (seen.count(identity_of(policy)) == 0) all.push_back(policy);
  return all;
}

}  // namespace

ConfigSchema log_policies_schema(ConfigRules rules) {
  ConfigSchema action = anything();
  action.types &= ~config_type::null;
  if (rules == ConfigRules::v0_33)
    return list_of(object({required("pattern", text()),
                           required("action", action.checked(check_action_object))}))
        .decoded(without_repeats)
        .merged(append_first);
  return list_of(object({optional("name", text()), optional("pattern", text()),
                         optional("action", action.checked(check_action).decoded(decode_action))})
                     .checked(check_policy))
      .checked(check_names)
      .merged(append_unseen);
}

Json default_log_policies(ConfigRules rules) {
  if (rules == ConfigRules::v0_33) return Json::array();
  return {{{"name", "CUDA OOM"}, {"pattern", ".*CUDA out of memory.*"}},
          {{"name", "ECC Error"}, {"pattern", ".*uncorrectable ECC error encountered.*"}}};
}

}  // namespace det::config
