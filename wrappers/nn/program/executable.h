// A program with its memory and kernels: what runs at every step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wrappers/nn/backend.h"
#include "wrappers/nn/program/model_program.h"
#include "wrappers/nn/weights/weights.h"

namespace det::nn {

// What an executable does for a step of its program, and with the arrays that are exchanged.

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

class Executable {
 public:
  // `loss` is the number of the result that is to become smaller, a single number; without it the
  // gradients of the results are the caller's to give. All that is used outlives it.
  Executable(const Program &program, const Weights &weights, Backend &backend,
             const StepState &state, std::optional<size_t> loss = {});

  // The layer that a step of the program belongs to; none of what comes behind the layers.
  const std::string &layer_of(size_t step) const;

  const Array &fed(size_t index) const { return fed_.at(index); }
  const Array &result(size_t index) const { return results_.at(index); }
  const Array &fed_gradient(size_t index) const { return fed_gradients_.at(index); }
  // Where backward() begins, filled by the caller; of a loss it is 1.
  const Array &result_gradient(size_t index) const { return result_gradients_.at(index); }

  // Throws Code::invalid, naming the layer and the record, for numbers that were
  // fed and that a layer refuses, such as an id that is in no table. Nothing has changed then.
  void check_fed() const;
  // When it has returned the process may read what was computed.
  void forward();
  // After forward(); the same.
  void backward();
  // Both, without waiting for their end: Backend::synchronize() does. `on_weight` is told of each
  // weight as soon as its gradient is complete, which may then be read; it may be empty.
  void start_gradients(const std::function<void(size_t weight)> &on_weight = {});

 private:
  // `work` on the back end, recorded where that can be.
  template <class Work>
  void run(std::unique_ptr<Recording> &recording, const Work &work);
  void give_forward();
  void give_backward(const std::function<void(size_t weight)> &on_weight);

  Backend &backend_;
  std::vector<Array> fed_, results_, fed_gradients_, result_gradients_;
  std::vector<ExecutableStep> steps_;
  std::vector<Exchange> sent_, received_;  // what was fed, and the results
  bool is_recorded_ = true;                // no step is on the host
  std::unique_ptr<Recording> forward_, backward_, gradients_;
};

}  // namespace det::nn
