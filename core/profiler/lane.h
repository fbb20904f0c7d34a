// The regions of one thread: which are open, and what was spent in each path of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/profiler/trace_layout.h"

namespace det::profiler {

// What was spent in a region below others, since the lane was made.
struct PathSum {
  uint8_t parent = 0;  // 0: none; else the number of another path, below that of this one
  Region region = 0;
  uint64_t ticks = 0;  // that of a region still open counts up to now
  uint64_t count = 0;  // of those that ended
};

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

}  // namespace det::profiler
