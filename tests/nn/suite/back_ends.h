// The back ends that what was recorded is compared with.
#pragma once

#include <string>
#include <vector>

#include "tests/nn/emulated_cuda/emulated_counts.h"

namespace det::test {

// Their names: the plain loops first, and "cuda" on an emulated GPU where that is built. One that
// cannot be opened is said and left out.
std::vector<std::string> compared_back_ends();

// Has "cuda" be that of the emulated GPU from now on. Gives that name.
const char *emulated_cuda();

// What its device has done so far.
emulated::Counts counts_of_emulated_cuda();

}  // namespace det::test
