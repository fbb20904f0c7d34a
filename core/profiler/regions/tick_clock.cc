#include "core/profiler/regions/tick_clock.h"

#include <ctime>
#include <exception>

#include "core/base/file.h"

namespace det::profiler {

namespace {

uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

// Asked once in a process: it does not change without a person who changes it.
bool kernel_counts_cycles() noexcept {
  static const bool does = [] {
    try {
      return read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource") ==
             "tsc\n";
    } catch (const std::exception &) {
      return false;
    }
  }();
  return does;
}

}  // namespace

TickClock::TickClock() : source_(&monotonic_ns) {
#if defined(__x86_64__)
  counts_cycles_ = kernel_counts_cycles();
#endif
}

TickMark TickClock::mark() const noexcept {
  const uint64_t ticks = now();
  return {ticks, static_cast<int64_t>(counts_cycles_ ? monotonic_ns() : ticks)};
}

double nanoseconds_per_tick(const TickMark &first, const TickMark &last) noexcept {
  if (last.ticks <= first.ticks) return 1;
  return static_cast<double>(last.monotonic_ns - first.monotonic_ns) /
         static_cast<double>(last.ticks - first.ticks);
}

}  // namespace det::profiler
