// Numbers in their order: those that say what lies together.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

// So many keys, no two of which are the same: their order is one, whoever comes first. Each finds
// its own place, among those of a short run at first, and then in runs of twice the length: n times
// the square of the logarithm of n in all, in as many loops as there are lengths.
class SortedKeys {
 public:
  SortedKeys(CudaContext &context, size_t count) : context_(context), count_(count) {
    for (auto &keys : keys_)
      keys = context.device_memory().allocate(std::max<size_t>(count, 1) * sizeof(uint64_t));
  }

  // Those that key(i) gives, the smallest first, where they lie until the next call.
  template <class Key>
  const uint64_t *run(const Key &key) const {
    auto *from = reinterpret_cast<uint64_t *>(keys_[0].get());
    auto *to = reinterpret_cast<uint64_t *>(keys_[1].get());
    const size_t count = count_;
    for_each(context_, count, [=] DET_DEVICE(size_t i) {
      const uint64_t own = key(i);
      const size_t begin = i / shortest * shortest;
      const size_t end = begin + shortest < count ? begin + shortest : count;
      size_t place = begin;
      for (size_t other = begin; other < end; ++other) place += key(other) < own ? 1 : 0;
      from[place] = own;
    });
    for (size_t length = shortest; length < count; length *= 2, std::swap(from, to))
      for_each(context_, count, [=] DET_DEVICE(size_t i) {
        const uint64_t own = from[i];
        const size_t run = i / length;
        // The run that this one is merged with; it may be shorter than it, or missing.
        const size_t begin = limit((run ^ 1U) * length, count);
        const size_t end = limit(begin + length, count);
        const size_t first = run / 2 * 2 * length;
        to[first + i % length + smaller(from + begin, end - begin, own)] = own;
      });
    return from;
  }

 private:
  static constexpr size_t shortest = 32;

  DET_HOST_DEVICE static size_t limit(size_t i, size_t count) { return i < count ? i : count; }
  // How many of a run are.
  DET_HOST_DEVICE static size_t smaller(const uint64_t *keys, size_t count, uint64_t than) {
    size_t known = 0;
    while (known < count) {
      const size_t middle = (known + count) / 2;
      if (keys[middle] < than) known = middle + 1;
      else count = middle;
    }
    return known;
  }

  const CudaContext &context_;
  const size_t count_;
  std::array<std::shared_ptr<std::byte>, 2> keys_;
};

}  // namespace det::nn
