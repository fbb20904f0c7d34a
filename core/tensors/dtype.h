// The element types of safetensors files.
#pragma once

#include <optional>
#include <string_view>

namespace det::tensors {

// Same numbers as DET_DTYPE_* in include/det/tensors.h. They travel between ranks.
enum class Dtype : int {
  boolean = 1,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64,
};
inline constexpr int last_dtype = static_cast<int>(Dtype::u64);

// As files have it: "F32", "BF16".
const char *name_of(Dtype dtype);
std::optional<Dtype> dtype_named(std::string_view name);
std::optional<Dtype> dtype_numbered(int number);

// Of one element; of some it is no whole number of bytes.
unsigned bits_of(Dtype dtype);

}  // namespace det::tensors
