// Random numbers by counting: any one of a stream can be had without those before it, on any
// device, by any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wrappers/nn/arithmetic/host_device.h"

namespace det::nn {

// Philox 4x32-10 (Salmon and others, 2011): four words for a key and a counter.
DET_HOST_DEVICE inline std::array<uint32_t, 4> philox(uint64_t key, uint64_t stream,
                                                      uint64_t index) {
  std::array<uint32_t, 4> words{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32U),
                                static_cast<uint32_t>(stream),
                                static_cast<uint32_t>(stream >> 32U)};
  auto low = static_cast<uint32_t>(key);
  auto high = static_cast<uint32_t>(key >> 32U);
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53U} * words[0];
    const uint64_t second = uint64_t{0xCD9E8D57U} * words[2];
    words = {static_cast<uint32_t>(second >> 32U) ^ words[1] ^ low, static_cast<uint32_t>(second),
             static_cast<uint32_t>(first >> 32U) ^ words[3] ^ high, static_cast<uint32_t>(first)};
    low += 0x9E3779B9U;
    high += 0xBB67AE85U;
  }
  return words;
}

// [0, 1), of 24 bits, as a float has them.
DET_HOST_DEVICE inline float uniform_from(uint32_t word) {
  return static_cast<float>(word >> 8U) * 0x1p-24F;
}

// A stream of numbers for one purpose, such as the first values of one weight.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  uint32_t word() {
    if (used_ == words_.size()) {
      words_ = philox(seed_, stream_, index_++);
      used_ = 0;
    }
    return words_[used_++];
  }
  float uniform() { return uniform_from(word()); }
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  // Mean 0, standard deviation 1.
  double normal();

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t index_ = 0;
  std::array<uint32_t, 4> words_{};
  size_t used_ = 4;
};

}  // namespace det::nn
