#include "core/trial/arithmetic.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/half.h"

namespace det::trial {

namespace {

// How an element is stored, and what is counted in.
template <class Stored, class Computed, Computed (*Load)(Stored), Stored (*Store)(Computed)>
struct Element {
  using stored = Stored;
  using computed = Computed;
  static computed load(stored value) { return Load(value); }
  static stored store(computed value) { return Store(value); }
};

template <class T>
T itself(T value) {
  return value;
}

using Half = Element<uint16_t, float, from_half, to_half>;
using Bfloat = Element<uint16_t, float, from_bf16, to_bf16>;
using Float = Element<float, float, itself<float>, itself<float>>;
using Double = Element<double, double, itself<double>, itself<double>>;

template <class Work>
void for_dtype(Dtype dtype, const Work &work) {
  switch (dtype) {
    case Dtype::f16:
      return work(Half());
    case Dtype::bf16:
      return work(Bfloat());
    case Dtype::f64:
      return work(Double());
    default:
      return work(Float());
  }
}

// Sums are made in pieces that stay in the fastest cache, without memory of their own.
constexpr size_t piece = 1024;

}  // namespace

bool is_gradient_dtype(Dtype dtype) {
  return dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f32 || dtype == Dtype::f64;
}

size_t bytes_of(Dtype dtype) { return tensors::bits_of(dtype) / 8; }

void add(Dtype dtype, void *into, const void *from, size_t count) {
  for_dtype(dtype, [&](auto element) {
    using E = decltype(element);
    auto *to = static_cast<typename E::stored *>(into);
    const auto *summand = static_cast<const typename E::stored *>(from);
    for (size_t i = 0; i < count; ++i) to[i] = E::store(E::load(to[i]) + E::load(summand[i]));
  });
}

void sum(Dtype dtype, void *into, std::span<const char *const> summands, size_t count,
         double divisor) {
  for_dtype(dtype, [&](auto element) {
    using E = decltype(element);
    using Stored = typename E::stored;
    using Computed = typename E::computed;
    const auto by = static_cast<Computed>(divisor);
    std::array<Computed, piece> total;  // filled as far as it is read
    for (size_t start = 0; start < count; start += piece) {
      const size_t size = std::min(piece, count - start);
      const auto *first = reinterpret_cast<const Stored *>(summands.front()) + start;
      for (size_t i = 0; i < size; ++i) total[i] = E::load(first[i]);
      for (const char *summand : summands.subspan(1)) {
        const auto *from = reinterpret_cast<const Stored *>(summand) + start;
        for (size_t i = 0; i < size; ++i) total[i] += E::load(from[i]);
      }
      auto *to = static_cast<Stored *>(into) + start;
      for (size_t i = 0; i < size; ++i) to[i] = E::store(total[i] / by);
    }
  });
}

void convert(Dtype from_dtype, const void *from, Dtype to_dtype, void *to, size_t count,
             double divisor) {
  if (from_dtype == to_dtype && divisor == 1) {
    if (from != to && count > 0) std::memcpy(to, from, count * bytes_of(from_dtype));
    return;
  }
  for_dtype(from_dtype, [&](auto source) {
    for_dtype(to_dtype, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      const auto *in = static_cast<const typename From::stored *>(from);
      auto *out = static_cast<typename To::stored *>(to);
      const auto by = static_cast<typename From::computed>(divisor);
      for (size_t i = 0; i < count; ++i)
        out[i] = To::store(static_cast<typename To::computed>(From::load(in[i]) / by));
    });
  });
}

}  // namespace det::trial
