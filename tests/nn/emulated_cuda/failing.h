// What goes wrong on the emulated device while this lives: emulated_device.h has the ways.
#pragma once

#include <cstdlib>
#include <string>

namespace det::test {

struct Failing {
  explicit Failing(const std::string &how) { setenv("EMULATED_CUDA_FAIL", how.c_str(), 1); }
  Failing(const Failing &) = delete;
  Failing &operator=(const Failing &) = delete;
  ~Failing() { unsetenv("EMULATED_CUDA_FAIL"); }
};

}  // namespace det::test
