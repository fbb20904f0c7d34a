// What computes: plain loops, oneDNN, CUDA.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "wrappers/nn/operations/operations.h"

namespace det::nn {

class WeightArithmetic;
WeightArithmetic &host_arithmetic();  // weight_arithmetic.h

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
  uint64_t stream = 0;           // the number of the operation in its program, for random numbers
  Dtype precision = Dtype::f32;  // F16 or BF16: all real numbers that go in are of that type
  const StepState *state = nullptr;
  // Where the only output is wanted once more, as this type has its numbers; of operations alone
  // for which Backend::joins_rounding().
  Array rounded = {};
  Dtype rounded_to = Dtype::f32;

  bool has_gradients() const;
};

// One operation at one shape, on arrays of its own. Used by one thread at a time; allocates nothing
// after it is made.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void forward() = 0;
  // After forward(). Writes the gradients that are asked for over what was in their arrays.
  virtual void backward() = 0;
};

// An operation and its operands.
template <class Op>
class OperationKernel : public Kernel {
 public:
  OperationKernel(Op op, Operands operands) : op_(std::move(op)), operands_(std::move(operands)) {}

 protected:
  const Array &input(size_t i) const { return operands_.inputs.at(i); }
  const Array &output(size_t i = 0) const { return operands_.outputs.at(i); }
  const Array &input_gradient(size_t i) const { return operands_.input_gradients.at(i); }
  const Array &output_gradient(size_t i = 0) const { return operands_.output_gradients.at(i); }
  size_t inputs() const { return operands_.inputs.size(); }

  const Op op_;
  const Operands operands_;
};

// Work that kernels are given again and again, the same on the same arrays.
class Recording {
 public:
  virtual ~Recording() = default;
  // Has `work` give the kernels what they have to do, or does what they were given the last time.
  virtual void run(const std::function<void()> &work) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char *name() const = 0;
  // Null for what it has not: the plain loops do that then. Throws Code::no_memory and the like.
  virtual std::unique_ptr<Kernel> make(const Operation &operation, const Operands &operands) = 0;
  // Whether kernels of an operation round this input to the operands' precision themselves: they
  // may be given numbers that are not rounded yet.
  virtual bool rounds_input(const Operation &, size_t) const { return false; }
  // Whether kernels of an operation write Operands::rounded as well.
  virtual bool joins_rounding(const Operation &) const { return false; }

  // Zeroed memory that kernels and the process both reach, one byte at least. Throws
  // Code::no_memory.
  virtual std::shared_ptr<std::byte> allocate(size_t bytes) { return zeroed_memory(bytes); }
  // Kernels may be given their work by forward() and backward() and return before it is done:
  // waits for all of it. The process reads and writes arrays after that only. Throws what went
  // wrong meanwhile.
  virtual void synchronize() {}
  // Whether kernels can be given arrays anywhere in the process, and not only in allocate()'s.
  virtual bool reaches_process() const { return true; }
  // What optimizers compute with, on arrays of this back end. Its work comes after that of kernels
  // which were asked before, and before that of those which are asked later.
  virtual WeightArithmetic &arithmetic() { return host_arithmetic(); }

  Array make_array(const ArrayType &type);
  // What the process writes before each step, or reads after it, where kernels have `array`:
  // another one where that is quicker, and copy() between the two; else the same.
  virtual Array make_exchanged(const Array &array) { return array; }
  // In turn with the kernels.
  virtual void copy(const Array &from, const Array &to);
  virtual std::shared_ptr<StepState> make_step_state(uint64_t seed);
  // Null where it is as quick to give the work each time.
  virtual std::unique_ptr<Recording> make_recording() { return nullptr; }
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
