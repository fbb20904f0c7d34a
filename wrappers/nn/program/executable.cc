#include "wrappers/nn/program/executable.h"

#include <optional>
#include <vector>

#include "core/base/error.h"
#include "wrappers/nn/arrays/array_copy.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

bool is_rounding(const Program::Step &step) {
  return std::holds_alternative<RoundingOp>(step.operation);
}

// That of all real numbers that go into a step; F32 where they differ.
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

// Of a program on a back end. Gradients are rounded all the same.
class JoinedRoundings {
 public:
  JoinedRoundings(const Program &program, const Backend &backend)
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

// Gives every value of a program its memory, and every step its kernel.
class Assembly {
 public:
  Assembly(const Program &program, const Weights &weights, Backend &backend)
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

  const JoinedRoundings &roundings() const { return roundings_; }

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

  // Those of the process; `exchanges` are the ones that it has beside the kernels' own.
  std::vector<Array> exchanged(const std::vector<Value> &which,
                               std::vector<Exchange> &exchanges) const {
    std::vector<Array> arrays;
    for (const Value value : which) {
      const Array &kernels = values_[value];
      arrays.push_back(backend_.make_exchanged(kernels));
      if (arrays.back().raw() != kernels.raw()) exchanges.push_back({arrays.back(), kernels});
    }
    return arrays;
  }
  // Before make_step().
  void set_fed(const std::vector<Array> &fed) { exchanged_fed_ = fed; }

  // To be called from the last step to the first, as backward() goes: whoever comes first writes a
  // gradient, all others add to it.
  ExecutableStep make_step(size_t number, const StepState &state) {
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

  std::vector<Array> gradients_of(const std::vector<Value> &which) const {
    std::vector<Array> picked;
    for (const Value value : which) picked.push_back(gradients_[value]);
    return picked;
  }

 private:
  std::function<void()> check_of(const Program::Step &source) const;
  std::optional<size_t> fed_index(Value value) const {
    while (const Value *same = reshaped_from(value)) value = *same;
    const Program::ValueFacts &facts = program_.values[value];
    return facts.source == Program::Source::fed ? std::optional(facts.index) : std::nullopt;
  }
  // Of all that is not shared: each may fit where all of them do not.
  size_t bytes_needed() const {
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
  const Value *reshaped_from(Value value) const {
    const Program::ValueFacts &facts = program_.values[value];
    if (facts.source != Program::Source::computed) return nullptr;
    const Program::Step &step = program_.steps[facts.index];
    return std::holds_alternative<ReshapeOp>(step.operation) ? step.inputs.data() : nullptr;
  }
  // Where a step writes its part of the gradient of an input.
  Array place_for(Value input, ExecutableStep &step) {
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

  const Program &program_;
  const Weights &weights_;
  Backend &backend_;
  std::vector<Array> values_, gradients_, exchanged_fed_;
  std::vector<size_t> uses_;  // that make_step() has not come to
  std::vector<bool> is_written_;
  const JoinedRoundings roundings_;
};

}  // namespace

// Of ids that are fed, whether they are in the table.
std::function<void()> Assembly::check_of(const Program::Step &source) const {
  if (!std::holds_alternative<EmbeddingOp>(source.operation)) return {};
  const auto index = fed_index(source.inputs.at(0));
  if (!index) return {};
  const Shape &shape = program_.values[source.inputs[0]].type.shape;
  const auto rows = static_cast<size_t>(program_.values[source.inputs[1]].type.shape[0]);
  return [ids = exchanged_fed_.at(*index).reshaped(shape), rows] { EmbeddingOp::check(ids, rows); };
}

Executable::Executable(const Program &program, const Weights &weights, Backend &backend,
                       const StepState &state, std::optional<size_t> loss)
    : backend_(backend) {
  Assembly assembly(program, weights, backend);
  for (size_t i = 0; i < program.results.size(); ++i)
    if (!loss || i == *loss) assembly.begin_gradient_at(i);
  assembly.give_memory();
  fed_ = assembly.exchanged(program.fed, sent_);
  assembly.set_fed(fed_);
  steps_.resize(program.steps.size());
  for (size_t i = steps_.size(); i-- > 0;) {
    steps_[i] = assembly.make_step(i, state);
    // A plain loop joins nothing.
    if (const auto rounding = assembly.roundings().done_by(i); rounding && steps_[i].is_on_host)
      steps_[*rounding].is_computed = true;
  }
  fed_gradients_ = assembly.gradients_of(program.fed);
  results_ = assembly.exchanged(program.results, received_);
  for (const ExecutableStep &step : steps_) {
    if (step.is_on_host) is_recorded_ = false;
    for (const ExecutableStep::Addition &addition : step.additions)
      if (!addition.kernel) is_recorded_ = false;
  }
  result_gradients_ = assembly.gradients_of(program.results);
  // Kernels may have begun to work as they were made.
  backend.synchronize();
  if (loss && result_gradients_.at(*loss)) result_gradients_[*loss].data()[0] = 1;
}

const std::string &Executable::layer_of(size_t step) const { return steps_.at(step).layer; }

void Executable::check_fed() const {
  for (const ExecutableStep &step : steps_) {
    if (!step.check) continue;
    try {
      step.check();
    } catch (const Error &refusal) {
      throw Error(refusal.code, "calling the layer " + step.layer + ": " + refusal.what());
    }
  }
}

template <class Work>
void Executable::run(std::unique_ptr<Recording> &recording, const Work &work) {
  if (!recording && is_recorded_) recording = backend_.make_recording();
  // Who makes none is not asked again.
  if (!recording) is_recorded_ = false;
  if (recording) recording->run(work);
  else work();
}

void Executable::give_forward() {
  for (const Exchange &one : sent_) backend_.copy(one.process, one.kernels);
  for (const ExecutableStep &step : steps_) {
    if (!step.is_computed) continue;
    if (step.is_on_host) backend_.synchronize();
    step.kernel->forward();
  }
  for (const Exchange &one : received_) backend_.copy(one.kernels, one.process);
}

void Executable::give_backward(const std::function<void(size_t weight)> &on_weight) {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->is_differentiated) {
      if (step->is_on_host) backend_.synchronize();
      step->kernel->backward();
      for (const ExecutableStep::Addition &addition : step->additions) addition.add(backend_);
    }
    if (!on_weight || step->weights.empty()) continue;
    backend_.synchronize();
    for (const size_t weight : step->weights) on_weight(weight);
  }
}

void Executable::forward() {
  run(forward_, [this] { give_forward(); });
  backend_.synchronize();
}

void Executable::backward() {
  run(backward_, [this] { give_backward({}); });
  backend_.synchronize();
}

void Executable::start_gradients(const std::function<void(size_t weight)> &on_weight) {
  if (on_weight) {
    run(forward_, [this] { give_forward(); });
    give_backward(on_weight);
    return;
  }
  run(gradients_, [this] {
    give_forward();
    give_backward({});
  });
}

}  // namespace det::nn
