// Which sanitizer this program is built for.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DET_TEST_UNDER_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define DET_TEST_UNDER_ASAN 1
#endif
#endif
#ifndef DET_TEST_UNDER_TSAN
#define DET_TEST_UNDER_TSAN 0
#endif
#if !defined(DET_TEST_UNDER_ASAN) && defined(__SANITIZE_ADDRESS__)
#define DET_TEST_UNDER_ASAN 1
#endif
#ifndef DET_TEST_UNDER_ASAN
#define DET_TEST_UNDER_ASAN 0
#endif

constexpr bool under_tsan = DET_TEST_UNDER_TSAN != 0;
