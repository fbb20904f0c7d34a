// The section `searcher`: how to choose hyperparameters, and how long trials train.
#include <algorithm>

#include "core/config/experiment/check.h"
#include "core/config/experiment/sections.h"
#include "core/config/experiment/transform.h"
#include "core/search/brackets.h"

namespace det::config {

namespace {

using Fields = std::vector<ConfigField>;

bool check_length(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (!value.is_object()) return true;
  if (value.size() == 1)
    for (const char *unit : {"batches", "records", "epochs"})
      if (value.contains(unit)) return true;
  checker.report(at, "length_shape",
                 "a length has exactly one of 'batches', 'records' and 'epochs'");
  return false;
}

// Also a plain number, whose unit is the training loop's business.
ConfigSchema searcher_length(int least_of_plain) {
  return length(1).or_type(config_type::integer).at_least(least_of_plain);
}

Fields operator+(Fields a, const Fields &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Successive halving, in both its forms.
Fields halving(ConfigRules rules) {
  const Fields common = {
      needed("max_trials", integer().at_least(1)),
      optional("divisor", number().above(1), 4),
      optional("max_concurrent_trials", integer().at_least(0), 16),
  };
  if (rules == ConfigRules::v0_33) return common + Fields{optional("stop_once", boolean(), false)};
  return common + Fields{optional("time_metric", text()),
                         optional("max_time", integer().at_least(1)),
                         optional("stop_once", boolean())};
}

// Kept readable for configurations of old; see check_search().
std::vector<ConfigAlternative> removed_searchers() {
  const Fields common = {
      optional("max_length", length(1)),
      optional("divisor", number().above(1)),
      optional("max_trials", integer().at_least(1)),
      optional("max_rungs", integer().at_least(1)),
      optional("mode", text().one_of({"aggressive", "standard", "conservative"})),
  };
  const Fields staged =
      common + Fields{optional("budget", length(1)), optional("train_stragglers", boolean()),
                      optional("num_rungs", integer().at_least(1)),
                      optional("bracket_rungs", list_of(integer()))};
  return {{"sync_halving", staged}, {"adaptive", staged}, {"adaptive_simple", common}};
}

const std::string &name_of(const Json &searcher) {
  return config_member(searcher, "name").get_ref<const std::string &>();
}

// The training length of a whole trial, without its unit.
uint64_t length_of(const Json &searcher, ConfigRules rules) {
  if (rules == ConfigRules::v0_38) return searcher.at("max_time").get<uint64_t>();
  const Json &length = searcher.at("max_length");
  return (length.is_object() ? length.front() : length).get<uint64_t>();
}

// The most rungs that any bracket has.
uint64_t rungs_of(const Json &searcher, uint64_t length, double divisor) {
  if (name_of(searcher) == "async_halving") return searcher.at("num_rungs").get<uint64_t>();
  const auto given = searcher.at("bracket_rungs").get<std::vector<uint64_t>>();
  if (!given.empty()) return *std::ranges::max_element(given);
  return std::min({searcher.at("max_rungs").get<uint64_t>(), search::rungs_worth(length, divisor),
                   search::rungs_worth(searcher.at("max_trials").get<uint64_t>(), divisor)});
}

constexpr uint64_t most_rungs = 1024;

// Equal lengths of two rungs would make one operation of two.
void check_rungs(ConfigChecker &checker, const Json &searcher, ConfigRules rules,
                 const ConfigPath &at) {
  const uint64_t length = length_of(searcher, rules);
  const double divisor = searcher.at("divisor").get<double>();
  const uint64_t rungs = rungs_of(searcher, length, divisor);
  if (rungs > most_rungs)
    return checker.report(at, "rule",
                          "there must be at most 1024 rungs, found " + std::to_string(rungs));
  const std::vector<uint64_t> lengths = search::rung_lengths(rungs, length, divisor);
  const auto equal = std::adjacent_find(lengths.rbegin(), lengths.rend());
  if (equal == lengths.rend()) return;
  checker.report(at / (rules == ConfigRules::v0_38 ? "max_time" : "max_length"), "rule",
                 "it is too short for " + std::to_string(rungs) +
                     " rungs: two of them would have the length " + std::to_string(*equal) +
                     "; give more, fewer rungs, or a larger 'divisor'");
}

}  // namespace

ConfigSchema length(int least) {
  return map_of(integer().at_least(least)).checked(check_length).merged(keep_first);
}

ConfigSchema searcher_schema(ConfigRules rules) {
  const bool by_length = rules == ConfigRules::v0_33;
  const auto max_length = [&](const ConfigSchema &schema) {
    return Fields{by_length ? needed("max_length", schema) : optional("max_length", schema)};
  };
  const Fields concurrent = {optional("max_concurrent_trials", integer().at_least(0), 16)};
  const Fields common = {
      needed("name", anything()),
      needed("metric", text()),
      optional("smaller_is_better", boolean(), true),
      optional("source_trial_id", integer(), nullptr),
      optional("source_checkpoint_uuid", text(), nullptr),
  };
  const Fields adaptive = {
      optional("mode", text().one_of({"aggressive", "standard", "conservative"}), "standard"),
      optional("max_rungs", integer().at_least(1), 5),
      optional("bracket_rungs", list_of(integer().at_least(1)), Json::array()),
  };
  std::vector<ConfigAlternative> alternatives = {
      {"single", max_length(searcher_length(0))},
      {"random", Fields{needed("max_trials", integer().at_least(1))} +
                     max_length(searcher_length(0)) + concurrent},
      {"grid", max_length(searcher_length(0)) + concurrent},
      {"async_halving",
       Fields{needed("num_rungs", integer().at_least(1))} + max_length(length(1)) + halving(rules)},
      {"adaptive_asha", max_length(searcher_length(1)) + halving(rules) + adaptive},
      {"custom", {optional("unit", text().one_of({"batches", "records", "epochs"}), nullptr)}},
  };
  for (ConfigAlternative &removed : removed_searchers()) alternatives.push_back(std::move(removed));
  return choice("name", common, std::move(alternatives));
}

void check_search(ConfigChecker &checker, const Json &config, ConfigRules rules) {
  const ConfigPath root;
  const ConfigPath at = root / "searcher";
  const Json &searcher = config.at("searcher");
  const std::string &name = name_of(searcher);
  const auto refuse = [&](const std::string &message) {
    checker.report(at, "searcher_not_runnable", message, {}, "name");
  };
  const bool is_halving = name == "adaptive_asha" || name == "async_halving";
  const bool is_removed = name == "sync_halving" || name == "adaptive" || name == "adaptive_simple";
  if (is_removed || (name == "custom" && rules == ConfigRules::v0_38))
    return refuse("the searcher '" + name + "' is no longer there; 'adaptive_asha' does its work");
  if (is_halving && rules == ConfigRules::v0_38 &&
      (!searcher.contains("max_time") || !searcher.contains("time_metric")))
    return refuse("the searcher '" + name + "' needs 'max_time' and 'time_metric'");
  if (is_halving) check_rungs(checker, searcher, rules, at);
  if (name == "grid" && !has_hyperparameters(config.at("hyperparameters")))
    checker.report(root / "hyperparameters", "rule",
                   "a grid search needs at least one hyperparameter; 'single' runs one trial");
}

}  // namespace det::config
