// What a rank has kept of its regions, read back: while it runs, after its end, or after a kill.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/profiler/regions/trace_layout.h"

namespace det::profiler {

struct TraceSlice {
  int64_t begin_ns = 0;  // since 1970
  int64_t end_ns = 0;
  Region region = 0;
};

struct TraceThread {
  int64_t thread_id = 0;
  uint64_t dropped = 0;            // earlier regions that are not kept
  std::vector<TraceSlice> slices;  // in each other or apart; those within others stand first
};

struct RankTrace {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  int64_t rank = 0;
  int64_t process_id = 0;
  int64_t begin_ns = 0;            // since 1970; nothing is earlier
  std::vector<std::string> names;  // by region
  std::vector<TraceThread> threads;
};

// A region that was open at the end lasts as long as anything of the rank that is known. Throws
// Code::corrupt for what is no such file, Code::unsupported for that of another release or kind of
// machine.
RankTrace read_trace(const std::filesystem::path &path);

}  // namespace det::profiler
