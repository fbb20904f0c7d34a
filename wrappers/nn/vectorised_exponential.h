// The exponential function without branches, for loops over many elements (vectorised.h).
#pragma once

#include <bit>
#include <cstdint>
#include <numbers>

namespace det::nn {

// exp(x) is (1 + excess) * scale, where scale is a power of two.
struct Exponential {
  float excess, scale;
};

// For x of at most 88 either way. x = n ln 2 + r, where n is whole and r at most half of ln 2; the
// excess is the Taylor series of exp(r) - 1, whose next term is below half a unit.
inline Exponential exponential(float x) {
  constexpr float rounder = 0x1.8p23F;         // added to a float, leaves no room for its fraction
  constexpr float high_of_ln2 = 0x1.62e4p-1F;  // short, so that n times it is exact
  constexpr float low_of_ln2 = 0x1.7f7d1cp-20F;
  const float shifted = x * std::numbers::log2e_v<float> + rounder;
  const float n = shifted - rounder;
  const float r = (x - n * high_of_ln2) - n * low_of_ln2;
  float series = 1.0F / 5040;
  series = series * r + 1.0F / 720;
  series = series * r + 1.0F / 120;
  series = series * r + 1.0F / 24;
  series = series * r + 1.0F / 6;
  series = series * r + 0.5F;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) + 127;
  return {series * r * r + r, std::bit_cast<float>(exponent << 23)};
}

// NaN stays what it is.
inline float at_most(float x, float limit) { return x > limit ? limit : x; }
inline float at_least(float x, float limit) { return x < limit ? limit : x; }

}  // namespace det::nn
