// Memory that runs out where a test says so: for the library, for the C++ library, and for the C
// libraries below. What a sanitizer does with malloc() stays its own: under ASan it is operator new
// that fails, and under TSan nothing does.
#pragma once

#include <cstdint>

namespace det::test {

enum class Whose { this_thread, other_threads };
// Of all, or of C++ alone: where a C library is known not to survive it.
enum class Allocations { all, of_cpp };

// One at a time. After `before` allocations of the threads it is for, the next `count` fail.
class Shortage {
 public:
  Shortage(Whose whose, int64_t before, int64_t count, Allocations which = Allocations::all);
  ~Shortage() { end(); }
  Shortage(const Shortage &) = delete;
  Shortage &operator=(const Shortage &) = delete;

  void end();
  int64_t failures() const;  // allocations that have failed in the last one
};

inline constexpr int64_t all_that_follow = INT64_MAX;

// This thread is never short of memory; for what a test does meanwhile.
class Spared {
 public:
  Spared();
  ~Spared();
};

}  // namespace det::test
