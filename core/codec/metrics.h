// Metrics of every group, those of the profiler included.
#pragma once

#include <string_view>

#include "core/base/json.h"
#include "core/codec/call.h"

namespace det::codec {

// Masters before 0.33 have a path of their own for each of the two groups that they know, training
// and validation, and want another form of the body there.
struct ReportMetrics {
  static constexpr Route route{"reporting metrics",
                               "POST",
                               "/api/v1/trials/{trial}/metrics",
                               WireVersion::v0_33,
                               WireVersion::v0_38,
                               "/api/v1/trials/{trial}/{group}_metrics"};

  int64_t trial_id = 0;
  int64_t run_id = 0;  // that of the trial's current start; 0 before an unmanaged trial's first one
  std::string group = {};
  std::optional<int64_t> steps_completed = {};  // none for the profiler's groups only
  std::optional<Time> report_time = {};         // none: the master's
  Json values = Json::object();
  std::vector<Json> batches = {};  // of training: an object each

  void fields(Fields &f);

  using Response = Nothing;
};

// What the profiler measures is of a time, not of a step: these groups may lack steps, and no
// others.
inline bool is_of_profiler(std::string_view group) {
  return group == "gpu" || group == "cpu" || group == "memory" || group == "disk" ||
         group == "network";
}

}  // namespace det::codec
