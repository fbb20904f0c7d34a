#include "core/launcher/run_policy.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/search/single.h"

namespace det::launcher {

namespace {

int64_t whole_number(const Json &section, const char *key, int64_t otherwise) {
  const Json value = section.is_object() ? section.value(key, Json()) : Json();
  return value.is_number() ? value.get<int64_t>() : otherwise;
}

}  // namespace

bool RunPolicy::allows_another(size_t running) const {
  return max_slots <= 0 || (static_cast<int64_t>(running) + 1) * slots_per_trial <= max_slots;
}

RunPolicy run_policy(const Json &config) {
  const RunPolicy usual;
  const Json resources = config.value("resources", Json());
  return {whole_number(resources, "slots_per_trial", usual.slots_per_trial),
          whole_number(resources, "max_slots", usual.max_slots),
          whole_number(config, "max_restarts", usual.max_restarts),
          std::chrono::seconds(
              whole_number(config, "preemption_timeout", usual.preemption_timeout.count()))};
}

int64_t slots_at_once(const Json &config) {
  const RunPolicy policy = run_policy(config);
  const Json searcher = config.value("searcher", Json());
  if (searcher.is_object() && searcher.value("name", Json()) == "single")
    return policy.slots_per_trial;
  int64_t most = policy.max_slots;
  for (const char *key : {"max_trials", "max_concurrent_trials"})
    if (const int64_t trials = whole_number(searcher, key, 0); trials > 0) {
      // Of numbers that nobody means the product would not fit.
      constexpr int64_t many = 1 << 20;
      const int64_t slots = std::min(trials, many) * std::min(policy.slots_per_trial, many);
      most = most > 0 ? std::min(most, slots) : slots;
    }
  return most;
}

uint64_t length_by_metrics(const Json &config) {
  const int64_t time = whole_number(config.at("searcher"), "max_time", 0);
  return time > 0 ? static_cast<uint64_t>(time) : search::single_length(config);
}

}  // namespace det::launcher
