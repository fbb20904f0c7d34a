#include "wrappers/nn/joined_roundings.h"

namespace det::nn {

namespace {

bool is_rounding(const Program::Step &step) {
  return std::holds_alternative<RoundingOp>(step.operation);
}

}  // namespace

Dtype precision_of(const Program &program, const Program::Step &step) {
  std::optional<Dtype> common;
  for (const Value input : step.inputs) {
    const Program::ValueFacts &facts = program.values[input];
    if (facts.type.dtype != Dtype::f32) continue;
    if (common.value_or(facts.precision) != facts.precision) return Dtype::f32;
    common = facts.precision;
  }
  return common.value_or(Dtype::f32);
}

JoinedRoundings::JoinedRoundings(const Program &program, const Backend &backend)
    : is_left_(program.values.size(), false),
      done_by_(program.steps.size()),
      has_(program.steps.size(), false) {
  for (const Program::Step &step : program.steps)
    if (is_rounding(step)) is_left_[step.outputs[0]] = true;
  for (const Program::Step &step : program.steps)
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const Value input = step.inputs[i];
      const bool rounds = backend.rounds_input(step.operation, i) &&
                          precision_of(program, step) == program.values[input].precision;
      if (!rounds) is_left_[input] = false;
    }
  for (const Value result : program.results) is_left_[result] = false;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Program::Step &step = program.steps[i];
    if (!is_rounding(step)) continue;
    has_[i] = is_left_[step.outputs[0]];
    const Program::ValueFacts &given = program.values[step.inputs[0]];
    if (has_[i] || given.source != Program::Source::computed || done_by_[given.index]) continue;
    has_[i] = backend.joins_rounding(program.steps[given.index].operation);
    if (has_[i]) done_by_[given.index] = i;
  }
}

}  // namespace det::nn
