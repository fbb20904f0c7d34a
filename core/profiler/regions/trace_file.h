// The file in which a rank keeps its regions for a trace.
#pragma once

#include <filesystem>

#include "core/base/report.h"
#include "core/profiler/regions/trace_layout.h"

namespace det::profiler {

inline constexpr char trace_magic[8] = {'D', 'E', 'T', 'T', 'R', 'A', 'C', 'E'};
inline constexpr uint32_t trace_version = 1;
inline constexpr uint32_t trace_byte_order = 0x01020304;
inline constexpr std::string_view trace_extension = ".trace";

class TraceFile {
 public:
  // In place of one that is there; makes its directory.
  TraceFile(const std::filesystem::path &path, const JournalKey &rank, const TickMark &first,
            int64_t first_time_us);
  TraceFile(const TraceFile &) = delete;
  TraceFile &operator=(const TraceFile &) = delete;
  // Gives back the space that no event took; the file stays.
  ~TraceFile();

  void add_name(std::string_view name);
  void note_time(const TickMark &last) noexcept;

  // Room for one more thread, with its space on disk: writing to it does not fail. At most
  // max_lanes times.
  TraceLane &add_lane();

 private:
  void allocate(uint64_t offset, uint64_t size) const;
  TraceHeader &header() const { return *static_cast<TraceHeader *>(mapped_); }
  static uint64_t lane_offset(uint32_t lane) {
    return trace_header_size + lane * sizeof(TraceLane);
  }

  const std::filesystem::path path_;
  int fd_ = -1;
  void *mapped_ = nullptr;
};

}  // namespace det::profiler
