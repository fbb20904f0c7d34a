#include "core/launcher/log_policies.h"

#include <re2/re2.h>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::launcher {

namespace {

// What a trial prints that shows its own configuration, and so each of the patterns.
constexpr std::string_view printed_configuration = "\"log_policies\":";

std::string text_of(const Json &policy, const char *key) {
  const Json value = policy.value(key, Json());
  return value.is_string() ? value.get<std::string>() : std::string();
}

// A policy with a name and no action only labels its trials.
bool acts(const Json &policy) {
  const Json action = policy.value("action", Json());
  return action.is_object() ? action.contains("type") : action.is_string();
}

std::unique_ptr<re2::RE2> compiled(const std::string &pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  return std::make_unique<RE2>(pattern, options);
}

std::optional<std::string> problem_of(const re2::RE2 &expression) {
  if (expression.ok()) return std::nullopt;
  return "the pattern '" + expression.pattern() + "' of log_policies is no regular expression (" +
         expression.error() + "); the syntax is that of RE2";
}

}  // namespace

std::optional<std::string> pattern_problem(const std::string &pattern) {
  return problem_of(*compiled(pattern));
}

LogPolicies::LogPolicies(const Json &config) {
  const Json policies = config.value("log_policies", Json());
  if (!policies.is_array()) return;
  for (const Json &policy : policies) {
    const std::string pattern = text_of(policy, "pattern");
    if (pattern.empty()) continue;  // it disables one of this name
    const std::string name = text_of(policy, "name");
    auto expression = compiled(pattern);
    if (const auto problem = problem_of(*expression))
      throw Error(Code::invalid, "running an experiment: " + *problem);
    if (acts(policy)) policies_.push_back({name.empty() ? pattern : name, std::move(expression)});
  }
}

LogPolicies::~LogPolicies() = default;

std::optional<std::string> LogPolicies::forbids_restarts(std::string_view line) const {
  for (const Policy &policy : policies_)
    if (RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *policy.pattern) &&
        line.find(printed_configuration) == line.npos)
      return policy.name;
  return std::nullopt;
}

}  // namespace det::launcher
