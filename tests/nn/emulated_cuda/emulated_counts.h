// What was asked of the emulated device since the beginning.
#pragma once

#include <cstddef>

namespace emulated {

struct Counts {
  size_t work = 0;         // pieces of work that were done
  size_t waits = 0;        // calls that wait for work
  size_t allocations = 0;  // of any memory
};

// Of this program or library: the back end's has a device of its own. Under the lock.
Counts &counts();

}  // namespace emulated

extern "C" {

// Of the library whose symbol it is.
void emulated_cuda_counts(emulated::Counts *counts);
}
