// For loops that are worth it on every processor, where the library is built for all of them.
#pragma once

// Before a function: compiled for wide vectors too, and chosen when the library is loaded. Sums
// keep their order, and nothing is contracted (see meson.build), so that the bits are those of the
// plain function.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DET_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DET_VECTORISED
#endif
