// Named phases of a program (data, forward, backward): how long each took, in each thread.
//
// Nothing is measured before the first of them is named. Beginning and ending one takes a few
// nanoseconds each: a thread writes to memory of its own, and who reads asks nothing of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/report.h"
#include "core/profiler/lane.h"
#include "core/profiler/tick_clock.h"
#include "core/profiler/trace_file.h"

namespace det::profiler {

// What was spent since the report before.
struct RegionSum {
  double seconds = 0;
  uint64_t count = 0;  // that ended
  double share = 0;    // of the time that passed; above 1 where several threads were in it
};

struct RegionReport {
  double seconds = 0;                        // that passed
  std::map<std::string, RegionSum> regions;  // by path: "step/forward"
  RegionSum library;                         // in calls of this library
};

class Regions {
 public:
  // The region of what the library itself does.
  static constexpr Region library = 0;
  static constexpr std::string_view library_name = "detcore";

  explicit Regions(TickClock clock = TickClock());
  Regions(const Regions &) = delete;
  Regions &operator=(const Regions &) = delete;
  ~Regions();

  // Before the first name: where the regions are kept for a trace, and who is told when it begins.
  void keep_trace(const std::filesystem::path &path, const JournalKey &rank);
  void on_first(std::function<void()> begun) { begun_ = std::move(begun); }

  // Any thread. The same name gives the same region. Throws Code::invalid.
  Region name(std::string_view text);
  // Whether one was.
  bool active() const noexcept { return names_.load(std::memory_order_acquire) > 0; }

  // Any thread; a region ends on the thread that it began on. Throws Code::invalid for what is no
  // region, Code::state for the end of one that is not open.
  void begin(int32_t number) {
    const Region region = check(number);
    if (Lane *lane = lane_of_this_thread()) lane->begin(region, clock_.now());
  }
  void end(int32_t number) {
    const Region region = check(number);
    Lane *lane = lane_of_this_thread();
    if (lane != nullptr && !lane->end(region, clock_.now())) [[unlikely]]
      refuse_end(region);
  }

  // What was spent since the last call; nothing while no region was named.
  std::optional<RegionReport> take();
  // What could not be kept, in words for a person; each is told once.
  std::vector<std::string> take_warnings();

 private:
  friend class LibraryCall;
  friend class SampledLibraryCall;

  // One for each thread: which lane it has, and in which object.
  struct Claim {
    uint64_t regions;
    uint64_t thread;  // a number that no other thread gets
    Lane *lane;
  };
  inline static thread_local constinit Claim claim_{};

  struct Owned {
    std::unique_ptr<TraceLane> memory;  // where the file has none
    std::unique_ptr<Lane> lane;
    TraceLane *record = nullptr;
    uint64_t thread = 0;
  };
  struct Ticks {
    uint64_t ticks = 0;
    uint64_t count = 0;
  };

  Region check(int32_t number) const {
    if (number <= library || number >= names_.load(std::memory_order_relaxed)) [[unlikely]]
      refuse(number);
    return static_cast<Region>(number);
  }
  Lane *lane_of_this_thread() noexcept {
    return claim_.regions == id_ ? claim_.lane : claim_lane();
  }

  [[noreturn]] static void refuse(int32_t number);
  [[noreturn]] void refuse_end(Region region) const;
  Lane *claim_lane() noexcept;
  Lane *find_lane(uint64_t thread);
  void open_trace();
  std::map<std::string, Ticks> total(Ticks &in_library);
  RegionSum since(const Ticks &now, Ticks &before, double passed) const;

  const uint64_t id_;  // of this object, in this process
  const TickClock clock_;
  const TickMark first_;
  const int64_t first_time_us_;
  std::filesystem::path trace_path_;
  JournalKey trace_rank_;
  std::function<void()> begun_;

  std::atomic<int32_t> names_{0};  // that of the library is the first
  mutable std::mutex mutex_;       // of what follows
  std::vector<std::string> name_;
  std::vector<Owned> lanes_;
  std::unique_ptr<TraceFile> file_;
  std::vector<std::string> warnings_;
  bool told_full_ = false;
  bool told_threads_ = false;
  TickMark taken_;
  std::map<std::string, Ticks> taken_regions_;
  Ticks taken_library_;
};

// What the library does while this lives counts as its own: for calls that may wait for something.
class LibraryCall {
 public:
  explicit LibraryCall(Regions &regions) noexcept
      : regions_(regions), lane_(regions.active() ? begin() : nullptr) {}
  LibraryCall(const LibraryCall &) = delete;
  LibraryCall &operator=(const LibraryCall &) = delete;
  ~LibraryCall() {
    if (lane_ != nullptr) lane_->end(Regions::library, regions_.clock_.now());
  }

 private:
  Lane *begin() noexcept;

  Regions &regions_;
  Lane *const lane_;
};

// The same for calls that take less than it would: one of several is timed, for all of them.
class SampledLibraryCall {
 public:
  explicit SampledLibraryCall(Regions &regions) noexcept : regions_(regions) {
    if (!regions.active()) return;
    Lane *lane = regions.lane_of_this_thread();
    if (lane == nullptr || !lane->is_sampled_call() || lane->is_innermost(Regions::library)) return;
    lane_ = lane;
    begin_ = regions.clock_.now();
  }
  SampledLibraryCall(const SampledLibraryCall &) = delete;
  SampledLibraryCall &operator=(const SampledLibraryCall &) = delete;
  ~SampledLibraryCall() {
    if (lane_ == nullptr) return;
    const uint64_t end = regions_.clock_.now();
    lane_->add_sampled(end > begin_ ? end - begin_ : 0);
  }

 private:
  Regions &regions_;
  Lane *lane_ = nullptr;
  uint64_t begin_ = 0;
};

}  // namespace det::profiler
