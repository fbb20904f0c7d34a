// Roundings that are no work of their own: a back end joins them to what is beside them.
#pragma once

#include <optional>
#include <vector>

#include "wrappers/nn/backend.h"
#include "wrappers/nn/model_program.h"

namespace det::nn {

// That of all real numbers that go into a step; F32 where they differ.
Dtype precision_of(const Program &program, const Program::Step &step);

// Of a program on a back end. Gradients are rounded all the same.
class JoinedRoundings {
 public:
  JoinedRoundings(const Program &program, const Backend &backend);

  // Whether all that take the result of a rounding round it themselves: they are given what is not
  // rounded.
  bool is_left(Value result) const { return is_left_[result]; }
  // The step of the rounding that a step does as well; one at most.
  std::optional<size_t> done_by(size_t step) const { return done_by_[step]; }
  // Whether it is a rounding that is left or done by another step.
  bool has(size_t step) const { return has_[step]; }

 private:
  std::vector<bool> is_left_;
  std::vector<std::optional<size_t>> done_by_;
  std::vector<bool> has_;
};

}  // namespace det::nn
