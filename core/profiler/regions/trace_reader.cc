#include "core/profiler/regions/trace_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/text/utf8.h"
#include "core/profiler/regions/trace_file.h"

namespace det::profiler {

namespace {

class Reader {
 public:
  explicit Reader(const std::filesystem::path &path)
      : name_(path.string()), file_(open_file(path, O_RDONLY)) {}

  RankTrace read() {
    read_header();
    RankTrace trace{header_->trial_id,
                    header_->run_id,
                    header_->rank,
                    header_->process_id,
                    time_ns(header_->first.ticks),
                    {},
                    {}};
    const uint32_t names = header_->names;
    const uint32_t lanes = header_->lanes;
    if (names > max_regions || lanes > max_lanes) refuse();
    for (uint32_t i = 0; i < names; ++i) {
      const char *name = header_->name[i];
      trace.names.emplace_back(name, strnlen(name, max_region_name));
      if (!is_utf8(trace.names.back())) refuse();
    }
    const auto lane = std::make_unique<TraceLane>();
    for (uint32_t i = 0; i < lanes; ++i)
      trace.threads.push_back(read_thread(*lane, trace_header_size + i * sizeof(TraceLane), names));
    end_open(trace);
    return trace;
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Code::corrupt, "reading the regions in '" + name_ + "': the file is damaged");
  }

  void read_at(uint64_t offset, void *to, size_t size) const {
    for (size_t done = 0; done < size;) {
      const ssize_t got = pread(file_.get(), static_cast<char *>(to) + done, size - done,
                                static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) OsFailure{errno}.raise("reading '" + name_ + "'");
      if (got == 0) refuse();
      done += static_cast<size_t>(got);
    }
  }

  void read_header() {
    read_at(0, header_.get(), sizeof *header_);
    if (std::memcmp(header_->magic, trace_magic, sizeof trace_magic) != 0) refuse();
    if (header_->byte_order != trace_byte_order || header_->version != trace_version)
      throw Error(Code::unsupported, "reading the regions in '" + name_ +
                                         "': written by another release or another kind of "
                                         "machine; read it there");
    const uint64_t marks = header_->marks;
    const auto &last = header_->last[marks % 2];
    if (marks > 0)
      ns_per_tick_ = nanoseconds_per_tick(header_->first, {last.ticks, last.monotonic_ns});
    latest_ = marks > 0 ? last.ticks.load() : header_->first.ticks;
  }

  // No event has fewer ticks than the first mark, or its file is damaged.
  int64_t time_ns(uint64_t ticks) const {
    const uint64_t first = header_->first.ticks;
    const double since = static_cast<double>(ticks - std::min(first, ticks)) * ns_per_tick_;
    constexpr double most = 1e17;  // three years
    return header_->first_time_us * 1000 + std::llround(std::min(since, most));
  }

  // What the rank overwrites meanwhile is left out.
  TraceThread read_thread(TraceLane &lane, uint64_t offset, uint32_t names) {
    read_at(offset, &lane, sizeof lane);
    const uint64_t ended = lane.ended;
    uint64_t ended_since = 0;
    uint64_t version_since = 0;
    read_at(offset + offsetof(TraceLane, ended), &ended_since, sizeof ended_since);
    read_at(offset + offsetof(TraceLane, version), &version_since, sizeof version_since);
    const uint64_t overwritten = ended_since >= lane_events ? ended_since - lane_events + 1 : 0;

    TraceThread thread{lane.thread_id, std::min(overwritten, ended), {}};
    for (uint64_t i = thread.dropped; i < ended; ++i) {
      const TraceEvent &event = lane.events[i % lane_events];
      const uint64_t duration = event.duration;
      const auto region = static_cast<Region>(duration);
      if (region >= names) refuse();
      const uint64_t end = event.begin + (duration >> 8U);
      thread.slices.push_back({time_ns(event.begin), time_ns(end), region});
      latest_ = std::max(latest_, end);
    }
    const uint32_t depth = lane.version == version_since ? lane.depth.load() : 0;
    if (depth > max_region_depth) refuse();
    for (uint32_t i = depth; i > 0; --i) {
      const OpenRegion &open = lane.open[i - 1];
      if (open.region >= names) refuse();
      thread.slices.push_back({time_ns(open.begin), still_open, open.region});
      latest_ = std::max(latest_, open.begin.load());
    }
    return thread;
  }

  void end_open(RankTrace &trace) const {
    for (TraceThread &thread : trace.threads)
      for (TraceSlice &slice : thread.slices)
        if (slice.end_ns == still_open) slice.end_ns = std::max(slice.begin_ns, time_ns(latest_));
  }

  static constexpr int64_t still_open = -1;

  const std::string name_;
  const Fd file_;
  const std::unique_ptr<TraceHeader> header_ = std::make_unique<TraceHeader>();
  double ns_per_tick_ = 1;
  uint64_t latest_ = 0;
};

}  // namespace

RankTrace read_trace(const std::filesystem::path &path) { return Reader(path).read(); }

}  // namespace det::profiler
