// cmocka wants these four first, and C linkage.
#pragma once

#ifdef __cplusplus
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <ios>  // has a function named like cmocka's macro fail()
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
#endif
