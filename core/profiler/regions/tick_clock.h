// The time at which regions begin and end: read in a few nanoseconds, made seconds of later.
#pragma once

#include <cstdint>

namespace det::profiler {

// The same moment by the counter and by the monotonic clock.
struct TickMark {
  uint64_t ticks = 0;
  int64_t monotonic_ns = 0;
};

class TickClock {
 public:
  using Source = uint64_t (*)() noexcept;

  // Counts cycles of the processor where the kernel itself keeps time by them: then they go on at
  // one pace on all cores. Else nanoseconds of the monotonic clock.
  TickClock();
  // Counts the nanoseconds that `source` gives.
  explicit TickClock(Source source) : source_(source) {}

  uint64_t now() const noexcept {
#if defined(__x86_64__)
    if (counts_cycles_) [[likely]]
      return __builtin_ia32_rdtsc();
#endif
    return source_();
  }

  TickMark mark() const noexcept;

 private:
  bool counts_cycles_ = false;
  Source source_;
};

// Nanoseconds of one tick, as measured between two marks.
double nanoseconds_per_tick(const TickMark &first, const TickMark &last) noexcept;

}  // namespace det::profiler
