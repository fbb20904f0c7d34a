// Memory that runs out in this program where a test says so. Included by one file of a program.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

#include "core/base/error.h"
#include "tests/sanitizer.h"

namespace det::test {

// Of this thread: so many allocations go well, and then so many fail.
inline thread_local int64_t allocations_before = 0;
inline thread_local int64_t allocations_to_fail = 0;

inline bool memory_runs_out() {
  return allocations_to_fail > 0 && allocations_before-- <= 0 && allocations_to_fail-- > 0;
}

// Makes a call with its first allocation failing, then with its second, and so on, until it gets
// all that it asks for.
template <class Call>
void with_each_allocation_failing(const Call &call) {
  for (int64_t before = 0;; ++before) {
    allocations_before = before;
    allocations_to_fail = 1;
    try {
      call();
    } catch (const std::exception &e) {
      if (as_error(e).code != Code::no_memory) throw;
    }
    if (std::exchange(allocations_to_fail, 0) == 1) return;
  }
}

}  // namespace det::test

#if !DET_TEST_UNDER_TSAN  // which has an operator new of its own: there, memory never runs out
// Not inlined: the compiler would see malloc() and operator delete as a pair that does not match.
[[gnu::noinline]] void *operator new(size_t size, const std::nothrow_t &) noexcept {
  return det::test::memory_runs_out() ? nullptr : std::malloc(size);
}
[[gnu::noinline]] void *operator new(size_t size) {
  void *memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif
