// Some of what goes in left out, by chance.
#pragma once

#include <optional>

#include "wrappers/nn/operations/operation_types.h"
#include "wrappers/nn/random_stream.h"

namespace det::nn {

DET_HOST_DEVICE constexpr float scale_of_kept(float rate) { return rate < 1 ? 1 / (1 - rate) : 0; }

// y is x / (1 - rate), or with the probability `rate` 0; for training only. Whether is drawn for
// each element, or for each channel of a record (the last axis), at every step anew.
struct DropoutOp {
  float rate = 0.5F;
  bool is_spatial = false;
  std::optional<uint64_t> seed = {};  // of the layer, in the place of the model's

  DET_HOST_DEVICE float scale() const { return scale_of_kept(rate); }
  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// What all back ends draw, so that they leave out the same: draw number `index` of one operation at
// one step. The streams of operations lie above those of first values.
class DropoutDraws {
 public:
  DET_HOST_DEVICE DropoutDraws(uint64_t seed, uint64_t operation, uint64_t step)
      : seed_(seed), stream_(((operation + 1) << 40U) + step) {}

  // What draws number 4 * `four` and the three after it are made of: uniform_from() of each.
  DET_HOST_DEVICE std::array<uint32_t, 4> words(uint64_t four) const {
    return philox(seed_, stream_, four);
  }

  DET_HOST_DEVICE bool is_kept(uint64_t index, float rate) {
    if (index / 4 != at_ || !is_drawn_) {
      words_ = words(at_ = index / 4);
      is_drawn_ = true;
    }
    return uniform_from(words_[index % 4]) >= rate;
  }
  // What an element is multiplied by.
  DET_HOST_DEVICE float factor(uint64_t index, float rate) {
    return is_kept(index, rate) ? scale_of_kept(rate) : 0;
  }

 private:
  const uint64_t seed_, stream_;
  std::array<uint32_t, 4> words_{};
  uint64_t at_ = 0;
  bool is_drawn_ = false;
};

}  // namespace det::nn
