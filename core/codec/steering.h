// Steering what the master schedules. A call comes back before the trials have followed.
#pragma once

#include "core/codec/call.h"

namespace det::codec {

struct SteerExperiment {
  int64_t experiment_id = 0;

  void fields(Fields &f) { f.in_path("experiment", experiment_id); }

  using Response = Nothing;
};

struct PauseExperiment : SteerExperiment {
  static constexpr Route route{"pausing the experiment", "POST",
                               "/api/v1/experiments/{experiment}/pause"};
};

struct ActivateExperiment : SteerExperiment {
  static constexpr Route route{"activating the experiment", "POST",
                               "/api/v1/experiments/{experiment}/activate"};
};

struct CancelExperiment : SteerExperiment {
  static constexpr Route route{"canceling the experiment", "POST",
                               "/api/v1/experiments/{experiment}/cancel"};
};

struct KillExperiment : SteerExperiment {
  static constexpr Route route{"killing the experiment", "POST",
                               "/api/v1/experiments/{experiment}/kill"};
};

struct ArchiveExperiment : SteerExperiment {
  static constexpr Route route{"archiving the experiment", "POST",
                               "/api/v1/experiments/{experiment}/archive"};
};

struct UnarchiveExperiment : SteerExperiment {
  static constexpr Route route{"bringing the experiment back from the archive", "POST",
                               "/api/v1/experiments/{experiment}/unarchive"};
};

// With its checkpoints and TensorBoard files, which may take a while after the answer.
struct DeleteExperiment : SteerExperiment {
  static constexpr Route route{"deleting the experiment", "DELETE",
                               "/api/v1/experiments/{experiment}"};
};

// Each where it changes.
struct PatchExperiment {
  static constexpr Route route{"changing the experiment", "PATCH",
                               "/api/v1/experiments/{experiment}"};

  int64_t experiment_id = 0;
  std::optional<std::string> name = {};
  std::optional<std::string> notes = {};
  std::optional<std::vector<std::string>> labels = {};
  std::optional<std::string> description = {};

  void fields(Fields &f) {
    f.in_path("experiment", experiment_id);
    f.repeat("id", experiment_id);
    f("name", name);
    f("notes", notes);
    f("labels", labels);
    f("description", description);
  }

  using Response = Nothing;
};

struct KillTrial {
  static constexpr Route route{"killing the trial", "POST", "/api/v1/trials/{trial}/kill"};

  int64_t trial_id = 0;

  void fields(Fields &f) { f.in_path("trial", trial_id); }

  using Response = Nothing;
};

}  // namespace det::codec
