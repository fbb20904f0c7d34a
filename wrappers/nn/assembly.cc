#include "wrappers/nn/assembly.h"

#include "wrappers/nn/array_copy.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

Assembly::Assembly(const Program &program, const Weights &weights, Backend &backend)
    : program_(program),
      weights_(weights),
      backend_(backend),
      values_(program.values.size()),
      gradients_(program.values.size()),
      uses_(program.values.size(), 0),
      is_written_(program.values.size(), false),
      roundings_(program, backend) {
  for (const Program::Step &step : program.steps)
    for (const Value input : step.inputs) ++uses_[input];
}

void Assembly::give_memory() {
  check_memory(bytes_needed(), "making room for a batch");
  for (Value value = 0; value < values_.size(); ++value) {
    const Program::ValueFacts &facts = program_.values[value];
    if (facts.source == Program::Source::weight) {
      values_[value] = weights_.at(facts.index).value;
      if (facts.has_gradient) gradients_[value] = weights_.at(facts.index).gradient;
      continue;
    }
    const Value *same = reshaped_from(value);
    values_[value] = same != nullptr             ? values_[*same].reshaped(facts.type.shape)
                     : roundings_.is_left(value) ? values_[program_.steps[facts.index].inputs[0]]
                                                 : backend_.make_array(facts.type);
    if (facts.source == Program::Source::constant)
      copy_elements(program_.constants[facts.index], values_[value], "a constant");
    if (!facts.has_gradient) continue;
    const bool shares =
        same != nullptr && uses_[*same] == 1 && !is_written_[*same] && !is_written_[value];
    gradients_[value] =
        shares ? gradients_[*same].reshaped(facts.type.shape) : backend_.make_array(facts.type);
  }
}

std::vector<Array> Assembly::exchanged(const std::vector<Value> &which,
                                       std::vector<Exchange> &exchanges) const {
  std::vector<Array> arrays;
  for (const Value value : which) {
    const Array &kernels = values_[value];
    arrays.push_back(backend_.make_exchanged(kernels));
    if (arrays.back().raw() != kernels.raw()) exchanges.push_back({arrays.back(), kernels});
  }
  return arrays;
}

// Of ids that are fed, whether they are in the table.
std::function<void()> Assembly::check_of(const Program::Step &source) const {
  if (!std::holds_alternative<EmbeddingOp>(source.operation)) return {};
  const auto index = fed_index(source.inputs.at(0));
  if (!index) return {};
  const Shape &shape = program_.values[source.inputs[0]].type.shape;
  const auto rows = static_cast<size_t>(program_.values[source.inputs[1]].type.shape[0]);
  return [ids = exchanged_fed_.at(*index).reshaped(shape), rows] { EmbeddingOp::check(ids, rows); };
}

ExecutableStep Assembly::make_step(size_t number, const StepState &state) {
  const Program::Step &source = program_.steps[number];
  ExecutableStep step;
  step.layer = source.layer;
  step.is_computed = !roundings_.has(number);
  step.check = check_of(source);
  Operands operands;
  operands.precision = precision_of(program_, source);
  operands.stream = number;
  operands.state = &state;
  for (const Value output : source.outputs) {
    operands.outputs.push_back(values_[output]);
    operands.output_gradients.push_back(gradients_[output]);
    if (gradients_[output]) step.is_differentiated = true;
  }
  if (const auto rounding = roundings_.done_by(number)) {
    const Value rounded = program_.steps[*rounding].outputs[0];
    operands.rounded = values_[rounded];
    operands.rounded_to = program_.values[rounded].precision;
  }
  for (const Value input : source.inputs) {
    operands.inputs.push_back(values_[input]);
    operands.input_gradients.push_back(step.is_differentiated ? place_for(input, step) : Array());
    const Program::ValueFacts &facts = program_.values[input];
    if (--uses_[input] == 0 && facts.source == Program::Source::weight && facts.has_gradient)
      step.weights.push_back(facts.index);
  }
  step.kernel = backend_.make(source.operation, operands);
  step.is_on_host = !step.kernel;
  if (step.is_on_host) step.kernel = make_reference_kernel(source.operation, operands);
  return step;
}

std::vector<Array> Assembly::gradients_of(const std::vector<Value> &which) const {
  std::vector<Array> picked;
  for (const Value value : which) picked.push_back(gradients_[value]);
  return picked;
}

std::optional<size_t> Assembly::fed_index(Value value) const {
  while (const Value *same = reshaped_from(value)) value = *same;
  const Program::ValueFacts &facts = program_.values[value];
  return facts.source == Program::Source::fed ? std::optional(facts.index) : std::nullopt;
}

// Of all that is not shared: each may fit where all of them do not.
size_t Assembly::bytes_needed() const {
  size_t bytes = 0;
  for (Value value = 0; value < values_.size(); ++value) {
    const Program::ValueFacts &facts = program_.values[value];
    if (facts.source == Program::Source::weight || reshaped_from(value) != nullptr) continue;
    for (int i = (facts.has_gradient ? 2 : 1) - (roundings_.is_left(value) ? 1 : 0); i > 0; --i)
      if (__builtin_add_overflow(bytes, bytes_of(facts.type), &bytes)) return SIZE_MAX;
  }
  return bytes;
}

// What a value is the same elements of, in another shape.
const Value *Assembly::reshaped_from(Value value) const {
  const Program::ValueFacts &facts = program_.values[value];
  if (facts.source != Program::Source::computed) return nullptr;
  const Program::Step &step = program_.steps[facts.index];
  return std::holds_alternative<ReshapeOp>(step.operation) ? step.inputs.data() : nullptr;
}

// Where a step writes its part of the gradient of an input.
Array Assembly::place_for(Value input, ExecutableStep &step) {
  if (!gradients_[input]) return {};
  if (!is_written_[input]) {
    is_written_[input] = true;
    return gradients_[input];
  }
  const Array part = backend_.make_array(program_.values[input].type);
  const Array &sum = gradients_[input];
  Operands operands;
  operands.inputs = {sum, part};
  operands.outputs = {sum};
  operands.input_gradients = {{}, {}};
  operands.output_gradients = {{}};
  step.additions.push_back({part, sum, backend_.make(ArithmeticOp{Arithmetic::add}, operands)});
  return part;
}

}  // namespace det::nn
