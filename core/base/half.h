// The two 16-bit floating-point formats, to and from float: without branches, so that loops over
// them are done several elements at once. Results are rounded to the nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace det {

inline float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16U); }

inline uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return static_cast<uint16_t>(is_nan ? bits >> 16U | 0x40U : rounded);
}

inline float from_half(uint16_t half) {
  const uint32_t sign = uint32_t{half} << 16U & 0x80000000U;
  const uint32_t magnitude = half & 0x7fffU;
  constexpr uint32_t rebias = (127U - 15U) << 23U;
  const uint32_t normal = (magnitude << 13U) + rebias;
  const uint32_t not_finite = magnitude << 13U | 0x7f800000U;
  // Subnormal ones are whole multiples of 2^-24.
  const auto subnormal = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  const uint32_t large = magnitude >= 0x7c00U ? not_finite : normal;
  return std::bit_cast<float>(sign | (magnitude < 0x400U ? subnormal : large));
}

inline uint16_t to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16U & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  constexpr uint32_t rebias = (127U - 15U) << 23U;
  const uint32_t normal = (magnitude - rebias + 0xfffU + (magnitude >> 13U & 1U)) >> 13U;
  // A float between 0.5 and 1 has steps of 2^-24, as subnormal halves have: adding 0.5 rounds to
  // them.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
                             std::bit_cast<uint32_t>(0.5F);
  constexpr uint32_t smallest_normal = 0x38800000U, too_large = 0x477ff000U;
  const uint32_t not_finite = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const uint32_t large = magnitude >= too_large ? not_finite : normal;
  return static_cast<uint16_t>(sign | (magnitude < smallest_normal ? subnormal : large));
}

}  // namespace det
