// Notices about a trial: what it was made from, and what somebody should look at.
#pragma once

#include "core/codec/call.h"

namespace det::codec {

enum class TrialSource { unspecified, inference, fine_tuning };
std::span<const char *const> wire_names(TrialSource);

// The trial uses a checkpoint of another one.
struct ReportTrialSource {
  static constexpr Route route{"reporting the trial's source", "POST", "/api/v1/trial-source-info",
                               WireVersion::v0_33};

  int64_t trial_id = 0;
  std::string checkpoint_uuid = {};
  TrialSource source = TrialSource::inference;
  std::optional<int64_t> model_id = {};
  std::optional<int64_t> model_version = {};

  void fields(Fields &f);

  struct Response {
    int64_t trial_id = 0;
    std::string checkpoint_uuid = {};

    void fields(Fields &f) {
      f("trialId", trial_id);
      f("checkpointUuid", checkpoint_uuid);
    }
  };
};

enum class AlertLevel { unspecified, trace, debug, info, warning, error, critical };
std::span<const char *const> wire_names(AlertLevel);

struct SendAlert {
  static constexpr Route route{"sending the alert", "POST", "/api/v1/webhooks/custom",
                               WireVersion::v0_38};

  std::string title = {};
  std::string description = {};
  AlertLevel level = AlertLevel::info;
  int64_t experiment_id = 0;
  std::optional<int64_t> trial_id = {};

  void fields(Fields &f);

  using Response = Nothing;
};

}  // namespace det::codec
