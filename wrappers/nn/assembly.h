// Gives every value of a program its memory, and every step its kernel.
#pragma once

#include <optional>
#include <vector>

#include "wrappers/nn/backend.h"
#include "wrappers/nn/executable_step.h"
#include "wrappers/nn/joined_roundings.h"
#include "wrappers/nn/model_program.h"
#include "wrappers/nn/weights.h"

namespace det::nn {

class Assembly {
 public:
  Assembly(const Program &program, const Weights &weights, Backend &backend);

  const JoinedRoundings &roundings() const { return roundings_; }

  // The gradient of a result that is not computed but given: any other part is added to it.
  void begin_gradient_at(size_t result) { is_written_[program_.results.at(result)] = true; }

  void give_memory();

  // Those of the process; `exchanges` are the ones that it has beside the kernels' own.
  std::vector<Array> exchanged(const std::vector<Value> &which,
                               std::vector<Exchange> &exchanges) const;
  // Before make_step().
  void set_fed(const std::vector<Array> &fed) { exchanged_fed_ = fed; }

  // To be called from the last step to the first, as backward() goes: whoever comes first writes a
  // gradient, all others add to it.
  ExecutableStep make_step(size_t number, const StepState &state);

  std::vector<Array> gradients_of(const std::vector<Value> &which) const;

 private:
  std::function<void()> check_of(const Program::Step &source) const;
  std::optional<size_t> fed_index(Value value) const;
  size_t bytes_needed() const;
  const Value *reshaped_from(Value value) const;
  Array place_for(Value input, ExecutableStep &step);

  const Program &program_;
  const Weights &weights_;
  Backend &backend_;
  std::vector<Array> values_, gradients_, exchanged_fed_;
  std::vector<size_t> uses_;  // that make_step() has not come to
  std::vector<bool> is_written_;
  const JoinedRoundings roundings_;
};

}  // namespace det::nn
