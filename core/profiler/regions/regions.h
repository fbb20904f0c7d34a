// Named phases of a program (data, forward, backward): how long each took, in each thread.
//
// Nothing is measured before the first of them is named. Beginning and ending one takes a few
// nanoseconds each: a thread writes to memory of its own, and who reads asks nothing of it.
#pragma once

#include <array>
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
#include "core/profiler/regions/tick_clock.h"
#include "core/profiler/regions/trace_file.h"
#include "core/profiler/regions/trace_layout.h"

namespace det::profiler {

// What was spent in a region below others, since the lane was made.
struct PathSum {
  uint8_t parent = 0;  // 0: none; else the number of another path, below that of this one
  Region region = 0;
  uint64_t ticks = 0;  // that of a region still open counts up to now
  uint64_t count = 0;  // of those that ended
};

// The regions of one thread: which are open, and what was spent in each path of them.
class Lane {
 public:
  explicit Lane(TraceLane &record) : record_(record) {}

  // What follows is for the thread that has the lane.

  // Beyond what there is room for, regions are left out, and full() says so.
  void begin(Region region, uint64_t now) noexcept {
    const uint32_t depth = record_.depth.load(std::memory_order_relaxed);
    const uint8_t path = depth < max_region_depth && left_out_ == 0 ? path_below(region) : 0;
    if (path == 0) [[unlikely]]
      return leave_out();
    OpenRegion &open = record_.open[depth];
    const Change change(record_);
    open.begin.store(now, std::memory_order_release);
    open.region.store(region, std::memory_order_release);
    open.path.store(path, std::memory_order_release);
    record_.depth.store(depth + 1, std::memory_order_release);
    path_ = path;
  }

  // Ends those in it as well. False where it is not open.
  bool end(Region region, uint64_t now) noexcept {
    if (left_out_ > 0) [[unlikely]] {
      --left_out_;
      return true;
    }
    const uint32_t depth = record_.depth.load(std::memory_order_relaxed);
    if (depth == 0 || record_.open[depth - 1].region.load(std::memory_order_relaxed) != region)
        [[unlikely]]
      return end_outer(region, depth, now);
    end_innermost(depth, now);
    return true;
  }

  // Nothing is open any more: the thread that had the lane is gone.
  void abandon() noexcept;

  bool is_innermost(Region region) const noexcept {
    const uint32_t depth = record_.depth.load(std::memory_order_relaxed);
    return depth > 0 && record_.open[depth - 1].region.load(std::memory_order_relaxed) == region;
  }

  // Every how many calls one is timed for all of them: those that take less than the timing would.
  static constexpr uint64_t calls_per_sample = 64;
  bool is_sampled_call() noexcept {
    const uint64_t calls = calls_.load(std::memory_order_relaxed) + 1;
    calls_.store(calls, std::memory_order_relaxed);
    return calls % calls_per_sample == 0;
  }
  void add_sampled(uint64_t ticks) noexcept { add(sampled_ticks_, ticks * calls_per_sample); }

  // Any thread.
  std::vector<PathSum> sums(uint64_t now) const;
  uint64_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }
  uint64_t sampled_ticks() const noexcept { return sampled_ticks_.load(std::memory_order_relaxed); }
  bool full() const noexcept { return full_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t max_paths = 256;  // the first stands for none

  struct Path {
    std::atomic<uint8_t> parent{0};
    std::atomic<Region> region{0};
    std::atomic<uint64_t> ticks{0};
    std::atomic<uint64_t> count{0};
    std::array<std::atomic<uint8_t>, max_regions> below{};  // 0: not yet
  };

  // While it lives, readers know that what they read may not fit together.
  class Change {
   public:
    explicit Change(TraceLane &record)
        : record_(record), version_(record.version.load(std::memory_order_relaxed)) {
      record_.version.store(version_ + 1, std::memory_order_relaxed);
    }
    Change(const Change &) = delete;
    Change &operator=(const Change &) = delete;
    ~Change() { record_.version.store(version_ + 2, std::memory_order_release); }

   private:
    TraceLane &record_;
    const uint64_t version_;
  };

  // There is one writer: no need for an atomic addition.
  static void add(std::atomic<uint64_t> &to, uint64_t amount) noexcept {
    to.store(to.load(std::memory_order_relaxed) + amount, std::memory_order_release);
  }

  uint8_t path_below(Region region) noexcept {
    const uint8_t path = paths_[path_].below[region].load(std::memory_order_relaxed);
    return path != 0 ? path : make_path_below(region);
  }

  void end_innermost(uint32_t depth, uint64_t now) noexcept {
    const OpenRegion &open = record_.open[depth - 1];
    const uint64_t begin = open.begin.load(std::memory_order_relaxed);
    const uint64_t ticks = now > begin ? now - begin : 0;
    Path &path = paths_[path_];
    const uint64_t ended = record_.ended.load(std::memory_order_relaxed);
    TraceEvent &event = record_.events[ended % lane_events];
    const Change change(record_);
    add(path.ticks, ticks);
    add(path.count, 1);
    event.begin.store(begin, std::memory_order_release);
    event.duration.store(ticks << 8U | open.region.load(std::memory_order_relaxed),
                         std::memory_order_release);
    record_.ended.store(ended + 1, std::memory_order_release);
    record_.depth.store(depth - 1, std::memory_order_release);
    path_ = path.parent.load(std::memory_order_relaxed);
  }

  bool end_outer(Region region, uint32_t depth, uint64_t now) noexcept;
  uint8_t make_path_below(Region region) noexcept;
  void leave_out() noexcept;
  std::vector<PathSum> read_sums(uint64_t now) const;

  TraceLane &record_;
  uint8_t path_ = 0;       // the innermost open one
  uint64_t left_out_ = 0;  // begun beyond what there is room for, and not ended yet
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> sampled_ticks_{0};
  std::atomic<bool> full_{false};
  std::atomic<uint32_t> used_paths_{1};
  std::array<Path, max_paths> paths_;
};

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
