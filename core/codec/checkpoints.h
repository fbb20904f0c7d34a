// Checkpoints, as the master keeps account of them.
#pragma once

#include "core/base/json.h"
#include "core/codec/call.h"

namespace det::codec {

enum class CheckpointState { unspecified, active, completed, error, deleted, partially_deleted };
std::span<const char *const> wire_names(CheckpointState);

// What the checkpoint was made by. Filled in answers only.
struct CheckpointTraining {
  std::optional<int64_t> trial_id = {};
  std::optional<int64_t> experiment_id = {};
  std::optional<Json> experiment_config = {};
  std::optional<Json> hparams = {};
  std::optional<Json> training_metrics =
      {};  // {"avgMetrics": {}, "batchMetrics": []}, same step count
  std::optional<Json> validation_metrics = {};
  std::optional<double> searcher_metric = {};

  void fields(Fields &f) {
    f("trialId", trial_id);
    f("experimentId", experiment_id);
    f.object("experimentConfig", experiment_config);
    f.object("hparams", hparams);
    f.object("trainingMetrics", training_metrics);
    f.object("validationMetrics", validation_metrics);
    f("searcherMetric", searcher_metric);
  }
};

struct Checkpoint {
  std::string uuid = {};
  std::optional<std::string> task_id = {};
  std::optional<std::string> allocation_id = {};  // none for unmanaged trials
  std::optional<int64_t> storage_id = {};         // from StartRun; not before 0.33
  CheckpointState state = CheckpointState::completed;
  std::optional<Time> report_time = {};
  Sizes resources = {};  // directories end in '/'
  Json metadata = Json::object();
  CheckpointTraining training = {};

  void fields(Fields &f) {
    f("uuid", uuid);
    f("taskId", task_id);
    f("allocationId", allocation_id);
    if (f.message().version >= WireVersion::v0_33) f("storageId", storage_id);
    f.or_default("state", state);
    f("reportTime", report_time);
    f.or_default("resources", resources);
    f.or_default("metadata", metadata);
    if (f.message().is_read && !metadata.is_object()) f.refuse("metadata", "must be an object");
    f.or_default("training", training);
  }
};

// Refuses a steps_completed that is no integer: it would break the trial, and lists of others.
struct ReportCheckpoint {
  static constexpr Route route{"reporting the checkpoint", "POST", "/api/v1/checkpoints"};

  Checkpoint checkpoint = {};

  void fields(Fields &f);

  using Response = Nothing;
};

struct GetCheckpoint {
  static constexpr Route route{"asking for the checkpoint", "GET", "/api/v1/checkpoints/{uuid}"};

  std::string uuid = {};

  void fields(Fields &f) { f.in_path("uuid", uuid); }

  struct Response {
    Checkpoint checkpoint = {};

    void fields(Fields &f) { f("checkpoint", checkpoint); }
  };
};

struct SetCheckpointMetadata {
  static constexpr Route route{"changing the checkpoint's metadata", "POST",
                               "/api/v1/checkpoints/{uuid}/metadata"};

  std::string uuid = {};
  Json metadata = Json::object();

  void fields(Fields &f) {
    f.in_path("uuid", uuid);
    f.nested("checkpoint", [&](Fields &checkpoint) {
      checkpoint.repeat("uuid", uuid);
      checkpoint.object("metadata", metadata);
    });
  }

  using Response = GetCheckpoint::Response;
};

// Which files of a checkpoint are left.
struct CheckpointRemains {
  std::string uuid = {};
  std::optional<Sizes> resources = {};  // empty: deleted; none: nothing changes

  void fields(Fields &f);
};

// After the files are gone from the storage.
struct PatchCheckpoints {
  static constexpr Route route{"telling what is left of the checkpoints", "PATCH",
                               "/api/v1/checkpoints", WireVersion::v0_33};

  std::vector<CheckpointRemains> checkpoints = {};

  void fields(Fields &f) { f.or_default("checkpoints", checkpoints); }

  using Response = Nothing;
};

}  // namespace det::codec
