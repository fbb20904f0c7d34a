#include "core/engine/repeats.h"

#include "core/base/json.h"

namespace det::engine {

namespace {

void add(const Json &metrics, std::map<std::string, Json, std::less<>> &values) {
  for (const auto &[name, value] : metrics.items()) values.emplace(name, value);
}

}  // namespace

void Repeats::begin(int64_t trial_id) {
  // Another connection may have stored reports of the same trial: other ranks, `det sync`.
  const int64_t version = store_.data_version();
  if (trial_id != trial_id_ || version != data_version_) forget();
  trial_id_ = trial_id;
  data_version_ = version;
}

bool Repeats::admit(std::string_view group, int64_t steps, MetricText &text,
                    std::vector<std::string> &conflicts) {
  Step &last = last_step(group);
  if (steps > last.steps) {
    last.steps = steps;
    last.loaded = true;
    last.pending = text.metrics();
    last.values.clear();
    last.batches = text.batches().has_value();
    return true;
  }
  Step earlier;
  earlier.steps = steps;
  Step &known = steps == last.steps ? last : earlier;
  load(group, known);

  const auto tell = [&](const std::string &what) {
    conflicts.push_back("trial " + std::to_string(trial_id_) + ", group \"" + std::string(group) +
                        "\", step " + std::to_string(steps) + ": " + what + "; the first is kept");
  };
  const Json given = parse_json_object(text.metrics(), "metrics");
  Json fresh = Json::object();
  for (const auto &[name, value] : given.items()) {
    const auto found = known.values.find(name);
    if (found == known.values.end()) fresh[name] = value;
    else if (found->second != value)
      tell("\"" + name + "\" was " + to_wire(found->second) + " and is now " + to_wire(value));
  }
  if (text.batches() && known.batches) {
    tell("metrics per batch were reported before");
    text.drop_batches();
  }
  const bool anything = !fresh.empty() || text.batches().has_value();
  if (fresh.size() != given.size()) text.reduce_metrics(fresh);
  add(fresh, known.values);
  known.batches = known.batches || text.batches().has_value();
  return anything;
}

Repeats::Step &Repeats::last_step(std::string_view group) {
  if (const auto found = last_.find(group); found != last_.end()) return found->second;
  Step step;
  Query highest = store_.query(
      "SELECT steps FROM metrics WHERE trial_id=? AND metric_group=? AND archived=0"
      " ORDER BY steps DESC LIMIT 1",
      trial_id_, group);
  if (highest.next()) step.steps = highest.integer(0);
  return last_.emplace(group, std::move(step)).first->second;
}

void Repeats::load(std::string_view group, Step &step) {
  if (!step.loaded) {
    Query rows = store_.query(
        "SELECT metrics, batches IS NOT NULL FROM metrics"
        " WHERE trial_id=? AND metric_group=? AND steps=? AND archived=0 ORDER BY id",
        trial_id_, group, step.steps);
    while (rows.next()) {
      add(parse_json_object(rows.view(0), "stored metrics"), step.values);
      step.batches = step.batches || rows.integer(1) != 0;
    }
    step.loaded = true;
  }
  if (step.pending.empty()) return;
  add(parse_json_object(step.pending, "metrics"), step.values);
  step.pending.clear();
}

}  // namespace det::engine
