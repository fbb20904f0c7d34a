#include "core/launcher/run_policy.h"

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

uint64_t length_by_metrics(const Json &config) {
  const int64_t time = whole_number(config.at("searcher"), "max_time", 0);
  return time > 0 ? static_cast<uint64_t>(time) : search::single_length(config);
}

}  // namespace det::launcher
