// Experiments and trials that no cluster schedules: they only report.
#pragma once

#include "core/base/json.h"
#include "core/codec/call.h"
#include "core/codec/trial.h"

namespace det::codec {

struct CreateExperiment {
  static constexpr Route route{"creating the experiment", "POST", "/api/v1/experiments",
                               WireVersion::v0_33};

  std::string config = {};  // YAML or JSON
  bool unmanaged = true;

  void fields(Fields &f);

  struct Response {
    Experiment experiment = {};
    Json config = Json::object();  // completed by the master

    void fields(Fields &f) {
      f("experiment", experiment);
      f.object("config", config);
    }
  };
};

// Creates it, or gives the one that has the external id.
struct PutExperiment {
  static constexpr Route route{"creating or finding the experiment", "PUT",
                               "/api/v1/experiments/by-external-id/{external experiment}",
                               WireVersion::v0_33};

  std::string external_experiment_id = {};
  CreateExperiment experiment = {};

  void fields(Fields &f) {
    f.in_path("external experiment", external_experiment_id);
    experiment.fields(f);
  }

  using Response = CreateExperiment::Response;
};

struct TrialResponse {
  Trial trial = {};

  void fields(Fields &f) { f("trial", trial); }
};

struct CreateUnmanagedTrial {
  static constexpr Route route{"creating the trial", "POST", "/api/v1/trials", WireVersion::v0_33};

  int64_t experiment_id = 0;
  std::optional<Json> hparams = {};
  bool unmanaged = true;

  void fields(Fields &f);

  using Response = TrialResponse;
};

// Creates it, or gives the one of the experiment that has the external id.
struct PutTrial {
  static constexpr Route route{"creating or finding the trial", "PUT", "/api/v1/trials",
                               WireVersion::v0_33};

  CreateUnmanagedTrial trial = {};
  std::optional<std::string> external_trial_id = {};

  void fields(Fields &f) {
    f("createTrialRequest", trial);
    f("externalTrialId", external_trial_id);
  }

  using Response = TrialResponse;
};

struct GetTrialByExternalId {
  static constexpr Route route{
      "asking for the trial", "GET",
      "/api/v1/trials/by-external-id/{external experiment}/{external trial}", WireVersion::v0_33};

  std::string external_experiment_id = {};
  std::string external_trial_id = {};

  void fields(Fields &f) {
    f.in_path("external experiment", external_experiment_id);
    f.in_path("external trial", external_trial_id);
  }

  using Response = TrialResponse;
};

// Begins the trial's next run. `resume` is always true: masters fail on anything else.
struct StartTrial {
  static constexpr Route route{"starting the trial", "POST", "/api/v1/trials/{trial}/start",
                               WireVersion::v0_33};

  int64_t trial_id = 0;
  bool resume = true;

  void fields(Fields &f);

  struct Response {
    int64_t run_id = 0;
    std::optional<std::string> latest_checkpoint = {};
    int64_t steps_completed = 0;  // of the latest checkpoint

    void fields(Fields &f) {
      f("trialRunId", run_id);
      f("latestCheckpoint", latest_checkpoint);
      f("stepsCompleted", steps_completed);
    }
  };
};

// A heartbeat, and with a state a change to it as well.
struct PatchTrial {
  static constexpr Route route{"telling the trial's state", "PATCH", "/api/v1/trials/{trial}",
                               WireVersion::v0_33};

  int64_t trial_id = 0;
  std::optional<TrialState> state = {};

  void fields(Fields &f) {
    f.in_path("trial", trial_id);
    f.repeat("trialId", trial_id);
    f("state", state);
  }

  using Response = TrialResponse;
};

struct GetTrial {
  static constexpr Route route{"asking for the trial", "GET", "/api/v1/trials/{trial}"};

  int64_t trial_id = 0;

  void fields(Fields &f) { f.in_path("trial", trial_id); }

  using Response = TrialResponse;
};

}  // namespace det::codec
