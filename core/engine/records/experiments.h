// The experiments of a store: listed, read, made and changed. Answers are JSON objects whose keys
// docs/client.md lists.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/base/json.h"
#include "core/engine/experiment.h"
#include "core/engine/records/page.h"
#include "core/engine/store.h"

namespace det::engine {

struct BestTrialRecord {
  int64_t trial_id = 0;
  double value = 0;
};

// Used by any thread.
class Experiments {
 public:
  explicit Experiments(Store &store) : store_(store) {}

  Json list(const Page &page);
  Json get(int64_t experiment_id);
  // Of get() what needs no look at its trials: the name, state, tags, configuration and error.
  Json describe(int64_t experiment_id);
  // With some of {"name", "notes", "tags": [], "archived": false}. Gives its entry.
  Json update(int64_t experiment_id, const Json &changes);

  // As the functions of experiment.h.
  int64_t create(const Json &config, const std::string &original, const LaunchPlan &launch);
  ExperimentRecord read(int64_t experiment_id);

  // For a display of one that runs.
  std::optional<int64_t> first_paused_trial(int64_t experiment_id);
  std::map<std::string, int64_t> count_trials(int64_t experiment_id);  // by their states
  std::optional<BestTrialRecord> best_trial(int64_t experiment_id);

 private:
  Database &records() { return store_.database(); }
  Json entry(int64_t experiment_id, const char *tried);
  void add_configuration(Json &experiment, int64_t experiment_id);

  Store &store_;
};

}  // namespace det::engine
