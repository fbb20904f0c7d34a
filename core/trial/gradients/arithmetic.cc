#include "core/trial/gradients/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/half_blocks.h"
#include "core/base/vectorised.h"

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

// Whole rows of elements, as what they are counted in.
template <class E>
void load(E, const typename E::stored *from, typename E::computed *to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = E::load(from[i]);
}
void load(Half, const uint16_t *from, float *to, size_t count) { from_halves(from, to, count); }
DET_VECTORISED void load(Bfloat, const uint16_t *from, float *to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from_bf16(from[i]);
}

template <class E>
void store(E, const typename E::computed *from, typename E::stored *to, size_t count,
           typename E::computed by) {
  for (size_t i = 0; i < count; ++i) to[i] = E::store(from[i] / by);
}
void store(Half, const float *from, uint16_t *to, size_t count, float by) {
  to_halves(from, to, count, by);
}

DET_VECTORISED void store(Bfloat, const float *from, uint16_t *to, size_t count, float by) {
  for (size_t i = 0; i < count; ++i) to[i] = to_bf16(from[i] / by);
}

bool is_power_of_two(float value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5F;
}

// What most gradients are. To divide by a power of two is to multiply with its inverse, which is
// much quicker.
DET_VECTORISED void store(Float, const float *from, float *to, size_t count, float by) {
  if (is_power_of_two(by)) {
    const float factor = 1 / by;
    for (size_t i = 0; i < count; ++i) to[i] = from[i] * factor;
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = from[i] / by;
  }
}

// total[i] += from[i]
template <class E>
void add_to(E, typename E::computed *total, const typename E::stored *from, size_t count) {
  for (size_t i = 0; i < count; ++i) total[i] += E::load(from[i]);
}

DET_VECTORISED void add_to(Bfloat, float *total, const uint16_t *from, size_t count) {
  for (size_t i = 0; i < count; ++i) total[i] += from_bf16(from[i]);
}
DET_VECTORISED void add_to(Float, float *total, const float *from, size_t count) {
  for (size_t i = 0; i < count; ++i) total[i] += from[i];
}

// Sums are made in pieces that stay in the fastest cache, without memory of their own.
constexpr size_t piece = 1024;

void add_to(Half, float *total, const uint16_t *from, size_t count) {
  std::array<float, piece> loaded;  // filled as far as it is read
  from_halves(from, loaded.data(), count);
  for (size_t i = 0; i < count; ++i) total[i] += loaded[i];
}

// total[i] = one[i] + other[i]
template <class E>
void add_two(E, const typename E::stored *one, const typename E::stored *other,
             typename E::computed *total, size_t count) {
  load(E(), one, total, count);
  add_to(E(), total, other, count);
}
DET_VECTORISED void add_two(Float, const float *one, const float *other, float *total,
                            size_t count) {
  for (size_t i = 0; i < count; ++i) total[i] = one[i] + other[i];
}

}  // namespace

void add(Dtype dtype, void *into, const void *from, size_t count) {
  for_dtype(dtype, [&](auto element) {
    using E = decltype(element);
    std::array<typename E::computed, piece> total;  // filled as far as it is read
    for (size_t start = 0; start < count; start += piece) {
      const size_t size = std::min(piece, count - start);
      auto *to = static_cast<typename E::stored *>(into) + start;
      load(element, to, total.data(), size);
      add_to(element, total.data(), static_cast<const typename E::stored *>(from) + start, size);
      store(element, total.data(), to, size, 1);
    }
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
      const auto piece_of = [&](const char *summand) {
        return reinterpret_cast<const Stored *>(summand) + start;
      };
      if (summands.size() == 1) load(element, piece_of(summands[0]), total.data(), size);
      else add_two(element, piece_of(summands[0]), piece_of(summands[1]), total.data(), size);
      for (size_t i = 2; i < summands.size(); ++i)
        add_to(element, total.data(), piece_of(summands[i]), size);
      store(element, total.data(), static_cast<Stored *>(into) + start, size, by);
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
      using Computed = typename From::computed;
      const auto by = static_cast<Computed>(divisor);
      if constexpr (std::is_same_v<typename From::stored, Computed> &&
                    std::is_same_v<typename To::computed, Computed>) {
        store(target, in, out, count, by);
      } else {
        std::array<Computed, piece> loaded;  // filled as far as it is read
        for (size_t start = 0; start < count; start += piece) {
          const size_t size = std::min(piece, count - start);
          load(source, in + start, loaded.data(), size);
          if constexpr (std::is_same_v<typename To::computed, Computed> &&
                        sizeof(typename To::stored) < sizeof(Computed)) {
            store(target, loaded.data(), out + start, size, by);
          } else {  // without wide vectors, whose stores are slower where they cross lines
            for (size_t i = 0; i < size; ++i)
              out[start + i] = To::store(static_cast<typename To::computed>(loaded[i] / by));
          }
        }
      }
    });
  });
}

}  // namespace det::trial
