// What is computed of two elements, and its derivatives: for processors and GPUs.
#pragma once

#include "wrappers/nn/host_device.h"
#include "wrappers/nn/operations/operations.h"

namespace det::nn {

DET_HOST_DEVICE inline float joined(Arithmetic arithmetic, float x, float y) {
  switch (arithmetic) {
    case Arithmetic::add:
      return x + y;
    case Arithmetic::subtract:
      return x - y;
    case Arithmetic::multiply:
      return x * y;
    case Arithmetic::maximum:
      return x >= y ? x : y;
    default:
      return x <= y ? x : y;
  }
}

// Of equal ones the first is the larger, and the smaller.
DET_HOST_DEVICE inline float slope_of_first(Arithmetic arithmetic, float x, float y) {
  switch (arithmetic) {
    case Arithmetic::multiply:
      return y;
    case Arithmetic::maximum:
      return x >= y ? 1 : 0;
    case Arithmetic::minimum:
      return x <= y ? 1 : 0;
    default:
      return 1;
  }
}

DET_HOST_DEVICE inline float slope_of_second(Arithmetic arithmetic, float x, float y) {
  switch (arithmetic) {
    case Arithmetic::add:
      return 1;
    case Arithmetic::subtract:
      return -1;
    case Arithmetic::multiply:
      return x;
    case Arithmetic::maximum:
      return x >= y ? 0 : 1;
    default:
      return x <= y ? 0 : 1;
  }
}

}  // namespace det::nn
