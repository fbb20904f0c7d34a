// A program with its memory and kernels: what runs at every step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "wrappers/nn/backend.h"
#include "wrappers/nn/model_program.h"
#include "wrappers/nn/weights.h"

namespace det::nn {

class Executable {
 public:
  // `loss` is the number of the result that is to become smaller, a single number; without it the
  // gradients of the results are the caller's to give. All that is used outlives it.
  Executable(const Program &program, const Weights &weights, Backend &backend,
             const StepState &state, std::optional<size_t> loss = {});
  ~Executable();

  const Array &fed(size_t index) const { return fed_.at(index); }
  const Array &result(size_t index) const { return results_.at(index); }
  const Array &fed_gradient(size_t index) const { return fed_gradients_.at(index); }
  // Where backward() begins, filled by the caller; of a loss it is 1.
  const Array &result_gradient(size_t index) const { return result_gradients_.at(index); }

  // Before forward(): throws Code::invalid, naming the layer and the record, for numbers that were
  // fed and that a layer refuses, such as an id that is in no table. Nothing has changed then.
  void check_fed() const;
  // When it has returned, and as backward() tells of a weight and returns, the process may read
  // what was computed.
  void forward();
  // After forward(). `on_weight` is told of each weight as soon as its gradient is complete; it may
  // be empty.
  void backward(const std::function<void(size_t weight)> &on_weight = {});

 private:
  struct Step;
  class Assembly;

  Backend &backend_;
  std::vector<Array> fed_, results_, fed_gradients_, result_gradients_;
  std::vector<Step> steps_;
};

}  // namespace det::nn
