// What one rank keeps of its regions for a trace: the memory that its threads write to, mapped from
// a file where there is one. The kernel owns the pages, so what was written outlives a kill.
//
// A header, then a lane for each thread: the regions open in it, and a ring of those that ended.
// One thread writes a lane; who reads it, here or in another process, looks at `version` before and
// afterwards: odd or changed means that it was written meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/profiler/regions/tick_clock.h"

namespace det::profiler {

// The number of a name.
using Region = uint8_t;

inline constexpr size_t max_regions = 64;         // names
inline constexpr size_t max_region_name = 63;     // bytes of one
inline constexpr uint32_t max_region_depth = 32;  // open in each other
inline constexpr uint32_t max_lanes = 64;         // threads at one time
inline constexpr uint64_t lane_events = 16'384;   // the last ones of a thread are kept

// A region that ended.
struct TraceEvent {
  std::atomic<uint64_t> begin;     // in ticks
  std::atomic<uint64_t> duration;  // in ticks, times 256, plus the region
};

struct OpenRegion {
  std::atomic<uint64_t> begin;
  std::atomic<Region> region;
  std::atomic<uint8_t> path;  // of the lane, for the process that writes it
};

struct TraceLane {
  std::atomic<uint64_t> version;
  std::atomic<uint64_t> ended;  // regions, ever; the last lane_events of them are in `events`
  std::atomic<uint32_t> depth;  // regions open now
  std::atomic<int32_t> thread_id;
  OpenRegion open[max_region_depth];
  TraceEvent events[lane_events];
};

struct TraceHeader {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  int64_t trial_id;
  int64_t run_id;
  int64_t rank;
  int64_t process_id;
  // Two moments tell the pace of ticks; the first of them is known in UTC too.
  TickMark first;
  int64_t first_time_us;
  std::atomic<uint64_t> marks;  // ever; that of number n is in last[n % 2]
  struct {
    std::atomic<uint64_t> ticks;
    std::atomic<int64_t> monotonic_ns;
  } last[2];
  std::atomic<uint32_t> lanes;
  std::atomic<uint32_t> names;
  char name[max_regions][max_region_name + 1];
};

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint8_t>::is_always_lock_free);
inline constexpr size_t trace_header_size = 8192;
static_assert(sizeof(TraceHeader) <= trace_header_size);

}  // namespace det::profiler
