// Many halves at once, by the processor's own instructions where it has them: seen at run time, so
// that one build is for all. The same results as of half.h, but for what a NaN carries.
#pragma once

#include <cstddef>

#include "core/base/half.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#define DET_F16C __attribute__((target("avx,f16c")))
#endif

namespace det {

#ifdef DET_F16C
inline bool has_f16c() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    // The question about AVX is also whether the system keeps its registers.
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
           (c & bit_F16C) != 0;
  }();
  return has;
}

// Eight at a time; the number of those that are done, which leaves less than eight.
DET_F16C inline size_t to_halves_by_f16c(const float *from, uint16_t *to, size_t count, float by) {
  const __m256 divisor = _mm256_set1_ps(by);
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i),
                     _mm256_cvtps_ph(_mm256_div_ps(_mm256_loadu_ps(from + i), divisor),
                                     _MM_FROUND_TO_NEAREST_INT));
  return i;
}

DET_F16C inline size_t from_halves_by_f16c(const uint16_t *from, float *to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i))));
  return i;
}
#else
inline bool has_f16c() { return false; }
inline size_t to_halves_by_f16c(const float *, uint16_t *, size_t, float) { return 0; }
inline size_t from_halves_by_f16c(const uint16_t *, float *, size_t) { return 0; }
#endif

// to[i] = from[i] / by
inline void to_halves(const float *from, uint16_t *to, size_t count, float by = 1) {
  size_t i = has_f16c() ? to_halves_by_f16c(from, to, count, by) : 0;
  for (; i < count; ++i) to[i] = to_half(from[i] / by);
}

inline void from_halves(const uint16_t *from, float *to, size_t count) {
  size_t i = has_f16c() ? from_halves_by_f16c(from, to, count) : 0;
  for (; i < count; ++i) to[i] = from_half(from[i]);
}

}  // namespace det
#undef DET_F16C
