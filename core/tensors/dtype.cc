#include "core/tensors/dtype.h"

#include <array>

namespace det::tensors {

namespace {

struct Facts {
  const char *name;
  unsigned bits;
};

// In the order of the numbers, from 1.
constexpr std::array<Facts, last_dtype> facts{{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
}};

const Facts &facts_of(Dtype dtype) { return facts.at(static_cast<size_t>(dtype) - 1); }

}  // namespace

const char *name_of(Dtype dtype) { return facts_of(dtype).name; }

unsigned bits_of(Dtype dtype) { return facts_of(dtype).bits; }

std::optional<Dtype> dtype_named(std::string_view name) {
  for (size_t i = 0; i < facts.size(); ++i)
    if (name == facts.at(i).name) return static_cast<Dtype>(i + 1);
  return std::nullopt;
}

std::optional<Dtype> dtype_numbered(int number) {
  if (number < 1 || number > last_dtype) return std::nullopt;
  return static_cast<Dtype>(number);
}

}  // namespace det::tensors
