// What an executable does for a step of its program, and with the arrays that are exchanged.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wrappers/nn/backend.h"

namespace det::nn {

// Of a program: its kernel, and what goes with it.
struct ExecutableStep {
  // A part of a gradient that cannot be written where the rest of it is.
  struct Addition {
    Array part;
    Array sum;
    std::unique_ptr<Kernel> kernel;  // of the back end; none: by a loop

    void add(Backend &backend) const {
      if (kernel) return kernel->forward();
      backend.synchronize();
      const auto from = part.elements();
      const auto to = sum.elements();
      for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    }
  };

  std::unique_ptr<Kernel> kernel;
  std::function<void()> check;  // of what was fed; or none
  bool is_on_host = false;      // a plain loop beside kernels that may still be at work
  bool is_computed = true;      // by forward(); or what follows does it
  std::string layer;
  bool is_differentiated = false;
  std::vector<Addition> additions;  // after its backward()
  std::vector<size_t> weights;      // whose gradients are complete then
};

// An array of the process, and that of the kernels, where they are two.
struct Exchange {
  Array process, kernels;
};

}  // namespace det::nn
