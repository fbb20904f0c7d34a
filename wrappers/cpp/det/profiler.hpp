// Measures the machine while the trial trains.
#pragma once

#include <det/profiler.h>
#include <det/error.hpp>

#include <chrono>

namespace det {
inline namespace v1 {

// A view borrowed from the core.
class Profiler {
 public:
  explicit Profiler(det_profiler_context *profiler) noexcept : profiler_(profiler) {}

  void on(std::chrono::duration<double> sampling_interval = std::chrono::seconds(1),
          int samples_per_report = 10, OnFailure on = {}) const {
    detail::call(on, det_profiler_on, profiler_, sampling_interval.count(), samples_per_report);
  }
  void off(OnFailure on = {}) const { detail::call(on, det_profiler_off, profiler_); }

  [[nodiscard]] det_profiler_context *capi() const noexcept { return profiler_; }

 private:
  det_profiler_context *profiler_;
};

}  // namespace v1
}  // namespace det
