// The run of a trial: its start, and what it tells and asks besides metrics and checkpoints.
#pragma once

#include "core/base/json.h"
#include "core/codec/call.h"

namespace det::codec {

// Before any other call of the run, by each of its processes.
struct StartRun {
  static constexpr Route route{"starting the run", "POST", "/api/v1/runs/start",
                               WireVersion::v0_33};

  int64_t trial_id = 0;
  std::optional<Json> checkpoint_storage = {};

  void fields(Fields &f) {
    f("runId", trial_id);
    f.object("checkpointStorage", checkpoint_storage);
  }

  struct Response {
    std::optional<int64_t> storage_id = {};  // for the run's checkpoint reports

    void fields(Fields &f) { f("storageId", storage_id); }
  };
};

struct SetStatus {
  static constexpr Route route{"reporting the status", "POST",
                               "/api/v1/trials/{trial}/runner/metadata"};

  int64_t trial_id = 0;
  std::string status = {};

  void fields(Fields &f) {
    f.in_path("trial", trial_id);
    f.or_default("state", status);
  }

  using Response = Nothing;
};

struct ReportProgress {
  static constexpr Route route{"reporting progress", "POST", "/api/v1/trials/{trial}/progress"};

  int64_t trial_id = 0;
  double progress = 0;  // a fraction from 0 to 1; before 0.38 in the searcher's units

  void fields(Fields &f);

  using Response = Nothing;
};

enum class EarlyExit { unspecified, invalid_hp, init_invalid_hp };
std::span<const char *const> wire_names(EarlyExit);

struct ReportEarlyExit {
  static constexpr Route route{"reporting the early exit", "POST",
                               "/api/v1/trials/{trial}/early_exit"};

  int64_t trial_id = 0;
  EarlyExit reason = EarlyExit::invalid_hp;

  void fields(Fields &f) {
    f.in_path("trial", trial_id);
    f("reason", reason);
  }

  using Response = Nothing;
};

// Code::not_found: there was no validation yet.
struct GetBestValidation {
  static constexpr Route route{
      "asking for the best validation", "GET",
      "/api/v1/experiments/{experiment}/searcher/best_searcher_validation_metric"};

  int64_t experiment_id = 0;

  void fields(Fields &f) { f.in_path("experiment", experiment_id); }

  struct Response {
    double metric = 0;

    void fields(Fields &f) { f("metric", metric); }
  };
};

struct RunMetadata {
  Json metadata = Json::object();

  void fields(Fields &f) { f.or_default("metadata", metadata); }
};

struct GetRunMetadata {
  static constexpr Route route{"asking for the run's metadata", "GET",
                               "/api/v1/runs/{run}/metadata", WireVersion::v0_38};

  int64_t trial_id = 0;

  void fields(Fields &f) { f.in_path("run", trial_id); }

  using Response = RunMetadata;
};

// Replaces all of it.
struct SetRunMetadata {
  static constexpr Route route{"setting the run's metadata", "POST", "/api/v1/runs/{run}/metadata",
                               WireVersion::v0_38};

  int64_t trial_id = 0;
  std::optional<Json> metadata = {};

  void fields(Fields &f) {
    f.in_path("run", trial_id);
    f.repeat("runId", trial_id);
    f.object("metadata", metadata);
  }

  using Response = RunMetadata;
};

}  // namespace det::codec
