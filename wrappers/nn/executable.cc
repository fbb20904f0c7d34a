#include "wrappers/nn/executable.h"

#include "core/base/error.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

struct Executable::Step {
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
  bool is_on_host = false;  // a plain loop beside kernels that may still be at work
  std::string layer;
  bool begins_with_fed = false;  // its first input is there before forward()
  bool is_differentiated = false;
  std::vector<Addition> additions;  // after its backward()
  std::vector<size_t> weights;      // whose gradients are complete then
};

// Gives every value its memory, and every step its kernel.
class Executable::Assembly {
 public:
  Assembly(const Program &program, const Weights &weights, Backend &backend)
      : program_(program),
        weights_(weights),
        backend_(backend),
        values_(program.values.size()),
        gradients_(program.values.size()),
        uses_(program.values.size(), 0),
        is_written_(program.values.size(), false) {
    for (const Program::Step &step : program.steps)
      for (const Value input : step.inputs) ++uses_[input];
  }

  // The gradient of a result that is not computed but given: any other part is added to it.
  void begin_gradient_at(size_t result) { is_written_[program_.results.at(result)] = true; }

  void give_memory() {
    check_memory(bytes_needed(), "making room for a batch");
    for (Value value = 0; value < values_.size(); ++value) {
      const Program::ValueFacts &facts = program_.values[value];
      if (facts.source == Program::Source::weight) {
        values_[value] = weights_.at(facts.index).value;
        if (facts.has_gradient) gradients_[value] = weights_.at(facts.index).gradient;
        continue;
      }
      const Value *same = reshaped_from(value);
      values_[value] = same != nullptr ? values_[*same].reshaped(facts.type.shape)
                                       : backend_.make_array(facts.type);
      if (!facts.has_gradient) continue;
      const bool shares =
          same != nullptr && uses_[*same] == 1 && !is_written_[*same] && !is_written_[value];
      gradients_[value] =
          shares ? gradients_[*same].reshaped(facts.type.shape) : backend_.make_array(facts.type);
    }
  }

  // To be called from the last step to the first, as backward() goes: whoever comes first writes a
  // gradient, all others add to it.
  Step make_step(size_t number, const StepState &state) {
    const Program::Step &source = program_.steps[number];
    Step step;
    step.layer = source.layer;
    step.begins_with_fed = is_fed(source.inputs.at(0));
    Operands operands;
    operands.stream = number;
    operands.state = &state;
    for (const Value output : source.outputs) {
      operands.outputs.push_back(values_[output]);
      operands.output_gradients.push_back(gradients_[output]);
      if (gradients_[output]) step.is_differentiated = true;
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

  std::vector<Array> values_of(const std::vector<Value> &which) const {
    return pick(values_, which);
  }
  std::vector<Array> gradients_of(const std::vector<Value> &which) const {
    return pick(gradients_, which);
  }

 private:
  bool is_fed(Value value) const {
    while (const Value *same = reshaped_from(value)) value = *same;
    return program_.values[value].source == Program::Source::fed;
  }

  // Of all that is not shared: each may fit where all of them do not.
  size_t bytes_needed() const {
    size_t bytes = 0;
    for (Value value = 0; value < values_.size(); ++value) {
      const Program::ValueFacts &facts = program_.values[value];
      if (facts.source == Program::Source::weight || reshaped_from(value) != nullptr) continue;
      for (int i = facts.has_gradient ? 2 : 1; i > 0; --i)
        if (__builtin_add_overflow(bytes, bytes_of(facts.type), &bytes)) return SIZE_MAX;
    }
    return bytes;
  }

  // What a value is the same elements of, in another shape.
  const Value *reshaped_from(Value value) const {
    const Program::ValueFacts &facts = program_.values[value];
    if (facts.source != Program::Source::computed) return nullptr;
    const Program::Step &step = program_.steps[facts.index];
    return std::holds_alternative<ReshapeOp>(step.operation) ? step.inputs.data() : nullptr;
  }

  // Where a step writes its part of the gradient of an input.
  Array place_for(Value input, Step &step) {
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

  static std::vector<Array> pick(const std::vector<Array> &from, const std::vector<Value> &which) {
    std::vector<Array> picked;
    for (const Value value : which) picked.push_back(from[value]);
    return picked;
  }

  const Program &program_;
  const Weights &weights_;
  Backend &backend_;
  std::vector<Array> values_, gradients_;
  std::vector<size_t> uses_;  // that make_step() has not come to
  std::vector<bool> is_written_;
};

Executable::Executable(const Program &program, const Weights &weights, Backend &backend,
                       const StepState &state, std::optional<size_t> loss)
    : backend_(backend) {
  Assembly assembly(program, weights, backend);
  for (size_t i = 0; i < program.results.size(); ++i)
    if (!loss || i == *loss) assembly.begin_gradient_at(i);
  assembly.give_memory();
  steps_.resize(program.steps.size());
  for (size_t i = steps_.size(); i-- > 0;) steps_[i] = assembly.make_step(i, state);
  fed_ = assembly.values_of(program.fed);
  fed_gradients_ = assembly.gradients_of(program.fed);
  results_ = assembly.values_of(program.results);
  result_gradients_ = assembly.gradients_of(program.results);
  if (loss && result_gradients_.at(*loss)) result_gradients_[*loss].data()[0] = 1;
}

Executable::~Executable() = default;

void Executable::check_fed() const {
  for (const Step &step : steps_) {
    if (!step.begins_with_fed) continue;
    try {
      step.kernel->check();
    } catch (const Error &refusal) {
      throw Error(refusal.code, "calling the layer " + step.layer + ": " + refusal.what());
    }
  }
}

void Executable::forward() {
  for (const Step &step : steps_) {
    if (step.is_on_host) backend_.synchronize();
    step.kernel->forward();
  }
  backend_.synchronize();
}

void Executable::backward(const std::function<void(size_t weight)> &on_weight) {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->is_differentiated) {
      if (step->is_on_host) backend_.synchronize();
      step->kernel->backward();
      for (const Step::Addition &addition : step->additions) addition.add(backend_);
    }
    if (!on_weight || step->weights.empty()) continue;
    backend_.synchronize();
    for (const size_t weight : step->weights) on_weight(weight);
  }
  backend_.synchronize();
}

}  // namespace det::nn
