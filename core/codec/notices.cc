#include "core/codec/notices.h"

#include <array>

namespace det::codec {

std::span<const char *const> wire_names(TrialSource) {
  static constexpr std::array names{"TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED",
                                    "TRIAL_SOURCE_INFO_TYPE_INFERENCE",
                                    "TRIAL_SOURCE_INFO_TYPE_FINE_TUNING"};
  return names;
}

std::span<const char *const> wire_names(AlertLevel) {
  static constexpr std::array names{"LOG_LEVEL_UNSPECIFIED", "LOG_LEVEL_TRACE",   "LOG_LEVEL_DEBUG",
                                    "LOG_LEVEL_INFO",        "LOG_LEVEL_WARNING", "LOG_LEVEL_ERROR",
                                    "LOG_LEVEL_CRITICAL"};
  return names;
}

void ReportTrialSource::fields(Fields &f) {
  if (f.message().is_read) source = TrialSource::unspecified;
  f.nested("trialSourceInfo", [&](Fields &info) {
    info("trialId", trial_id);
    info("checkpointUuid", checkpoint_uuid);
    info.or_default("trialSourceInfoType", source);
    info("modelId", model_id);
    info("modelVersion", model_version);
  });
}

void SendAlert::fields(Fields &f) {
  if (f.message().is_read) level = AlertLevel::unspecified;
  f.nested("data", [&](Fields &data) {
    data.or_default("title", title);
    data.or_default("description", description);
    data.or_default("level", level);
  });
  f("experimentId", experiment_id);
  f("trialId", trial_id);
}

}  // namespace det::codec
