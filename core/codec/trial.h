// Trials and experiments as masters show them. What our callers do not need has a default where it
// is missing; all of it is written, since the original's clients want it.
#pragma once

#include "core/base/json.h"
#include "core/codec/call.h"

namespace det::codec {

enum class TrialState {
  unspecified,
  active,
  paused,
  stopping_canceled,
  stopping_killed,
  stopping_completed,
  stopping_error,
  canceled,
  completed,
  error,
  queued,
  pulling,
  starting,
  running,
};
std::span<const char *const> wire_names(TrialState);

// What a group, as training or validation, has at a step.
struct StepMetrics {
  std::optional<Time> end_time = {};
  std::optional<Json> metrics = {};  // {"avgMetrics": {}, "batchMetrics": []}
  int64_t steps_completed = 0;

  void fields(Fields &f) {
    f("endTime", end_time);
    f.object("metrics", metrics);
    f("totalBatches", steps_completed);
  }
};

struct Trial {
  int64_t id = 0;
  int64_t experiment_id = 0;
  std::optional<Time> start_time = {};
  std::optional<Time> end_time = {};
  TrialState state = TrialState::unspecified;
  int64_t restarts = 0;
  Json hparams = Json::object();
  int64_t steps_completed = 0;
  std::optional<StepMetrics> best_validation = {};
  std::optional<StepMetrics> latest_validation = {};
  std::string runner_state = {};
  std::string task_id = {};
  std::optional<Json> summary = {};   // by group, its metrics by name; not before 0.33
  std::optional<Json> metadata = {};  // the caller's own; not before 0.38

  void fields(Fields &f) {
    f("id", id);
    f("experimentId", experiment_id);
    f("startTime", start_time);
    f("endTime", end_time);
    f("state", state);
    f.or_default("restarts", restarts);
    f.or_default("hparams", hparams);
    f.or_default("totalBatchesProcessed", steps_completed);
    f("bestValidation", best_validation);
    f("latestValidation", latest_validation);
    f.or_default("runnerState", runner_state);
    f.or_default("taskId", task_id);
    f.object("summaryMetrics", summary);
    f.object("metadata", metadata);
  }
};

struct Experiment {
  int64_t id = 0;
  std::string name = {};
  std::optional<Time> start_time = {};
  std::optional<Time> end_time = {};
  std::string state = {};  // its names are those of trials and more; shown, never judged
  bool archived = false;
  bool unmanaged = false;
  int64_t trial_count = 0;
  std::string notes = {};
  std::vector<std::string> labels = {};
  std::string username = {};
  std::string job_id = {};
  std::string searcher_type = {};  // a JSON text: "\"single\""
  int64_t project_id = 0;
  int64_t project_owner_id = 0;
  std::string original_config = {};
  Json config = Json::object();
  std::optional<std::string> external_id = {};
  std::optional<double> progress = {};  // from 0 to 1
  std::optional<int64_t> checkpoint_count = {};

  void fields(Fields &f) {
    f("id", id);
    f.or_default("name", name);
    f("startTime", start_time);
    f("endTime", end_time);
    f.or_default("state", state);
    f.or_default("archived", archived);
    f.or_default("unmanaged", unmanaged);
    f.or_default("numTrials", trial_count);
    f.or_default("notes", notes);
    f.or_default("labels", labels);
    f.or_default("username", username);
    f.or_default("jobId", job_id);
    f.or_default("searcherType", searcher_type);
    f.or_default("projectId", project_id);
    f.or_default("projectOwnerId", project_owner_id);
    f.or_default("originalConfig", original_config);
    f.or_default("config", config);
    f("externalExperimentId", external_id);
    f("progress", progress);
    f("checkpointCount", checkpoint_count);
  }
};

}  // namespace det::codec
