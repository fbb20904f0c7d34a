// Of the library of the back end, which hides all else of its device.
#include "tests/nn/emulated_cuda/emulated_counts.h"

#include "tests/nn/emulated_cuda/emulated_device.h"

__attribute__((visibility("default"))) void emulated_cuda_counts(emulated::Counts *counts) {
  const auto lock = emulated::locked();
  *counts = emulated::counts();
}
