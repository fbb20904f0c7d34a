// What computes: plain loops, oneDNN, CUDA.
#pragma once

#include <memory>
#include <vector>

#include "wrappers/nn/operations/all_operations.h"

namespace det::nn {

// What steps have besides their arrays, for kernels that draw random numbers.
struct StepState {
  uint64_t seed = 0;
  uint64_t step = 0;  // counts on with every batch that is trained, over restarts as well
};

// The arrays that a kernel works on. They stay where they are for its whole life, so that it can
// prepare all there is to prepare.
struct Operands {
  std::vector<Array> inputs;
  std::vector<Array> outputs;
  // An array without memory: nobody asks for that gradient, or there is none.
  std::vector<Array> input_gradients;
  std::vector<Array> output_gradients;
  uint64_t stream = 0;  // the number of the operation in its program, for random numbers
  const StepState *state = nullptr;

  bool has_gradients() const;
};

// One operation at one shape, on arrays of its own. Used by one thread at a time; allocates nothing
// after it is made.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Before forward(): throws Code::invalid for inputs that are refused for their numbers.
  virtual void check() const {}
  virtual void forward() = 0;
  // After forward(). Writes the gradients that are asked for over what was in their arrays.
  virtual void backward() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char *name() const = 0;
  // Null for what it has not: the plain loops do that then. Throws Code::no_memory and the like.
  virtual std::unique_ptr<Kernel> make(const Operation &operation, const Operands &operands) = 0;

  // Zeroed memory that kernels and the process both reach, one byte at least. Throws
  // Code::no_memory.
  virtual std::shared_ptr<std::byte> allocate(size_t bytes) { return zeroed_memory(bytes); }
  // Kernels may be given their work by forward() and backward() and return before it is done:
  // waits for all of it. The process reads and writes arrays after that only. Throws what went
  // wrong meanwhile.
  virtual void synchronize() {}

  Array make_array(const ArrayType &type);
};

// Those of the processor that this build has, the best first.
std::vector<const char *> backend_names();

// By name: "reference", "onednn", "cuda" (a library of its own: cuda/cuda_plugin.h), or "" for the
// one that the variable DETNN_BACKEND names and otherwise the best of backend_names(). Throws
// Code::invalid for a name that is none, Code::unsupported for one that this build or machine has
// not. `threads` is how many it may use; with 0 the processors that this process may use, shared
// with the ranks beside it.
std::shared_ptr<Backend> open_backend(const std::string &name, int threads = 0);

}  // namespace det::nn
