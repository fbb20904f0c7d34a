#include <det/profiler.h>

#include "capi/guard.h"
#include "capi/handles.h"

det_status det_profiler_on(det_profiler_context *profiler, double sampling_interval,
                           int32_t samples_per_report, det_error *err) noexcept {
  return guarded(
      err, [&] { deref(profiler, "profiler").impl.on(sampling_interval, samples_per_report); });
}

det_status det_profiler_off(det_profiler_context *profiler, det_error *err) noexcept {
  return guarded(err, [&] { deref(profiler, "profiler").impl.off(); });
}
