// Which sanitizer this program is built for.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DET_TEST_UNDER_TSAN 1
#endif
#endif
#ifndef DET_TEST_UNDER_TSAN
#define DET_TEST_UNDER_TSAN 0
#endif

constexpr bool under_tsan = DET_TEST_UNDER_TSAN != 0;
