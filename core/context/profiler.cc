#include "core/context/profiler.h"

#include <string>

#include "core/base/error.h"

namespace det::context {

void ProfilerContext::on(double sampling_interval, int samples_per_report) const {
  gate_.check();
  if (!(sampling_interval >= 0.1))
    throw Error(Code::invalid, "starting the profiler: sampling_interval " +
                                   std::to_string(sampling_interval) +
                                   " is too short; give 0.1 seconds or more");
  if (samples_per_report < 1)
    throw Error(Code::invalid, "starting the profiler: samples_per_report " +
                                   std::to_string(samples_per_report) + "; give 1 or more");
  throw Error(Code::unsupported,
              "starting the profiler: sampling of system metrics is not in this release");
}

}  // namespace det::context
