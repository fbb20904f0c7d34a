// Counters that only grow, as what they grow by.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/profiler/sampler.h"

namespace det::profiler {

class Rate {
 public:
  // The change per second since the last call. Nothing at first, and when the counter stood higher
  // before: it wrapped, began anew, or is another's now.
  std::optional<double> of(uint64_t count, Clock::time_point at) {
    const auto before = std::exchange(last_, Reading{count, at});
    if (!before || count < before->count || at <= before->at) return std::nullopt;
    return static_cast<double>(count - before->count) /
           std::chrono::duration<double>(at - before->at).count();
  }

 private:
  struct Reading {
    uint64_t count;
    Clock::time_point at;
  };
  std::optional<Reading> last_;
};

// Counters of devices that come and go, as one sum that never steps back: a device counts from its
// second reading on, one whose counter wrapped not for once, and one that is gone keeps its part.
template <size_t size>
class DeviceCounters {
 public:
  using Counts = std::array<uint64_t, size>;

  // Of each device there is, in any order; the same order as the last time is quickest.
  void add(std::string_view device, const Counts &counts) {
    const auto behind = devices_.begin() + static_cast<std::ptrdiff_t>(next_);
    auto found = std::find_if(behind, devices_.end(),
                              [&](const Device &known) { return known.name == device; });
    if (found == devices_.end()) {
      found = devices_.insert(behind, {std::string(device), counts});
    } else {
      for (size_t i = 0; i < size; ++i)
        if (counts[i] > found->counts[i]) sums_[i] += counts[i] - found->counts[i];
      found->counts = counts;
      std::rotate(devices_.begin() + static_cast<std::ptrdiff_t>(next_), found, found + 1);
    }
    ++next_;
  }

  // After the last device; those that were not added are forgotten.
  const Counts &sums() {
    devices_.resize(next_);
    next_ = 0;
    return sums_;
  }

 private:
  struct Device {
    std::string name;
    Counts counts{};
  };
  std::vector<Device> devices_;
  size_t next_ = 0;
  Counts sums_{};
};

}  // namespace det::profiler
