#include "core/profiler/lane.h"

namespace det::profiler {

bool Lane::end_outer(Region region, uint32_t depth, uint64_t now) noexcept {
  uint32_t found = depth;
  while (found > 0 && record_.open[found - 1].region.load(std::memory_order_relaxed) != region)
    --found;
  if (found == 0) return false;
  for (; depth >= found; --depth) end_innermost(depth, now);
  return true;
}

void Lane::abandon() noexcept {
  const Change change(record_);
  record_.depth.store(0, std::memory_order_release);
  path_ = 0;
  left_out_ = 0;
}

void Lane::leave_out() noexcept {
  ++left_out_;
  full_.store(true, std::memory_order_relaxed);
}

uint8_t Lane::make_path_below(Region region) noexcept {
  const uint32_t number = used_paths_.load(std::memory_order_relaxed);
  if (number == max_paths) return 0;
  Path &path = paths_[number];
  path.parent.store(path_, std::memory_order_relaxed);
  path.region.store(region, std::memory_order_relaxed);
  paths_[path_].below[region].store(static_cast<uint8_t>(number), std::memory_order_relaxed);
  used_paths_.store(number + 1, std::memory_order_release);
  return static_cast<uint8_t>(number);
}

// A thread that begins and ends without a pause could keep a reader for ever; what it reads then is
// off by one region.
std::vector<PathSum> Lane::sums(uint64_t now) const {
  constexpr int attempts = 100;
  for (int attempt = 1;; ++attempt) {
    const uint64_t before = record_.version.load(std::memory_order_acquire);
    std::vector<PathSum> read = read_sums(now);
    const bool is_whole =
        before % 2 == 0 && record_.version.load(std::memory_order_relaxed) == before;
    if (is_whole || attempt == attempts) return read;
  }
}

std::vector<PathSum> Lane::read_sums(uint64_t now) const {
  std::vector<PathSum> read;
  const uint32_t count = used_paths_.load(std::memory_order_acquire);
  read.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const Path &path = paths_[i];
    read.push_back(
        {path.parent.load(std::memory_order_relaxed), path.region.load(std::memory_order_relaxed),
         path.ticks.load(std::memory_order_acquire), path.count.load(std::memory_order_acquire)});
  }
  const uint32_t depth = record_.depth.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < depth && i < max_region_depth; ++i) {
    const uint64_t begin = record_.open[i].begin.load(std::memory_order_acquire);
    const uint8_t path = record_.open[i].path.load(std::memory_order_acquire);
    if (path < count && now > begin) read[path].ticks += now - begin;
  }
  return read;
}

}  // namespace det::profiler
