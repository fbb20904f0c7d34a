// cmocka wants these four first, and C linkage.
#pragma once

#ifdef __cplusplus
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#else
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#endif

#include <cmocka.h>

#ifdef __cplusplus
}

// Functions of ours and of <ios> are called like the macro fail(), which fail_msg() is made of.
#undef fail
#undef fail_msg
#define fail_msg(text, ...)                                      \
  do {                                                           \
    print_error("ERROR: " text "\n" __VA_OPT__(, ) __VA_ARGS__); \
    _fail(__FILE__, __LINE__);                                   \
  } while (0)

#include "tests/assert_equal.h"
#endif
