// The random numbers of a search: the same for the same seed on every machine, and the same as
// NumPy's RandomState(seed) draws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_fwd.h"

namespace det::search {

// MT19937, and the draws that a search makes from it. Each says how many of its words it takes,
// since that decides what all later draws give.
class RandomState {
 public:
  explicit RandomState(uint32_t seed);

  uint32_t u32();                              // 1 word
  uint64_t u64();                              // 2, the high one first
  uint64_t bounded(uint64_t limit);            // from 0 to `limit`; none for 0, else 1 or more
  uint64_t below(uint64_t count);              // bounded(count - 1); `count` is not 0
  double unit();                               // from 0, below 1; 2 words
  double uniform(double low, double high);     // from `low`, below `high`; 2 words
  std::vector<unsigned char> bytes(size_t n);  // 1 word for 4 bytes, also for the last ones
  std::string request_id();                    // a UUID; 4 words
  int64_t trial_seed();                        // from 0 to 2^31 - 1; 1 word

  // In place, as NumPy's shuffle() of a list.
  template <class Items>
  void shuffle(Items &items) {
    for (size_t i = items.size(); i-- > 1;) std::swap(items[i], items[bounded(i)]);
  }

  // {"key": the 624 words, "pos": how many of them are used up}
  Json snapshot() const;
  void restore(const Json &snapshot);

 private:
  static constexpr size_t words = 624;

  void refill();

  std::array<uint32_t, words> key_;
  size_t position_ = words;
};

}  // namespace det::search
