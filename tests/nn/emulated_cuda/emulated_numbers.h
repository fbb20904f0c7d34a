// Numbers of the types that devices compute with, as the libraries of CUDA name them.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/base/half.h"

namespace emulated {

enum class Number { f32, f16, bf16 };

inline size_t size_of(Number type) { return type == Number::f32 ? 4 : 2; }

inline float read_number(Number type, const void *from, int64_t index) {
  if (type == Number::f32) return static_cast<const float *>(from)[index];
  const uint16_t bits = static_cast<const uint16_t *>(from)[index];
  return type == Number::f16 ? det::from_half(bits) : det::from_bf16(bits);
}

inline void write_number(Number type, void *to, int64_t index, float value) {
  if (type == Number::f32) static_cast<float *>(to)[index] = value;
  else
    static_cast<uint16_t *>(to)[index] =
        type == Number::f16 ? det::to_half(value) : det::to_bf16(value);
}

}  // namespace emulated
