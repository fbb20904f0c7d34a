// How a file is cut into parts: of equal size but for the last, so that an upload that was cut
// short is continued by the same parts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/cloud/object_store.h"

namespace det::cloud {

struct PartPlan {
  static constexpr uint64_t usual = uint64_t{16} << 20;  // bytes of a part

  PartPlan(uint64_t size, const ObjectLimits &limits) : size(size) {
    const uint64_t parts = static_cast<uint64_t>(limits.parts_max);
    const uint64_t least = std::min(std::max(usual, limits.part_min), limits.put_max);
    part = std::min(std::max(least, (size / parts / step + 1) * step), limits.put_max);
    count = size <= 2 * least ? 1 : static_cast<int>((size - 1) / part + 1);
    if (count == 1) part = size;
  }

  // Of part `number`, from 1.
  uint64_t begin_of(int number) const { return static_cast<uint64_t>(number - 1) * part; }
  uint64_t size_of(int number) const { return std::min(part, size - begin_of(number)); }

  uint64_t size;
  uint64_t part;  // bytes
  int count;      // 1: it goes as a whole

 private:
  static constexpr uint64_t step = uint64_t{1} << 20;
};

}  // namespace det::cloud
