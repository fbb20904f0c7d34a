#include "core/codec/trial.h"

#include <array>

namespace det::codec {

std::span<const char *const> wire_names(TrialState) {
  static constexpr std::array names{"STATE_UNSPECIFIED",     "STATE_ACTIVE",
                                    "STATE_PAUSED",          "STATE_STOPPING_CANCELED",
                                    "STATE_STOPPING_KILLED", "STATE_STOPPING_COMPLETED",
                                    "STATE_STOPPING_ERROR",  "STATE_CANCELED",
                                    "STATE_COMPLETED",       "STATE_ERROR",
                                    "STATE_QUEUED",          "STATE_PULLING",
                                    "STATE_STARTING",        "STATE_RUNNING"};
  return names;
}

}  // namespace det::codec
