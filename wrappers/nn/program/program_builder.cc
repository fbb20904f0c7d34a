#include "wrappers/nn/program/program_builder.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::nn {

template <class Action>
void ProgramBuilder::within_layer(Action action) const {
  try {
    action();
  } catch (const Error &failure) {
    if (layer_.empty()) throw;
    throw Error(failure.code, "calling the layer " + layer_ + ": " + failure.what());
  }
}

Value ProgramBuilder::push(Program::ValueFacts facts) {
  within_layer([&] { (void)elements_of(facts.type.shape); });
  program_.values.push_back(std::move(facts));
  return program_.values.size() - 1;
}

Value ProgramBuilder::feed(const ArrayType &type, bool has_gradient) {
  const Value value = push({type, Program::Source::fed, program_.fed.size(), has_gradient});
  program_.fed.push_back(value);
  return value;
}

Value ProgramBuilder::constant(const Array &numbers) {
  program_.constants.push_back(numbers);
  return push({numbers.type(), Program::Source::constant, program_.constants.size() - 1});
}

Value ProgramBuilder::weight(const std::string &name, const WeightOptions &options) {
  size_t index = 0;
  within_layer([&] { index = weights_.find_or_add(path_ + name, options); });
  if (const auto known = weight_values_.find(index); known != weight_values_.end())
    return known->second;
  const Value value = push({{options.shape, Dtype::f32},
                            Program::Source::weight,
                            index,
                            is_training_ && options.is_trained});
  weight_values_.emplace(index, value);
  if (options.regularizer) regularized_.emplace_back(value, options.regularizer);
  return value;
}

void ProgramBuilder::regularize_activity(Value value, Regularizer regularizer) {
  const auto records = static_cast<float>(std::max<int64_t>(shape(value).at(0), 1));
  regularized_.emplace_back(value, Regularizer{regularizer.l1 / records, regularizer.l2 / records});
}

namespace {

// Whether what comes out are numbers that went in. A mask belongs to them: what it takes off is
// more than F16 holds, and rows of which it leaves nothing would be no numbers any more.
bool only_moves(const Operation &operation) {
  return std::visit(
      []<class Op>(const Op &) {
        return (std::is_same_v<Op, AttentionMaskOp> || std::is_same_v<Op, BroadcastOp> ||
                std::is_same_v<Op, ConcatenateOp> || std::is_same_v<Op, PaddingOp> ||
                std::is_same_v<Op, RepeatingOp> || std::is_same_v<Op, ReshapeOp> ||
                std::is_same_v<Op, ReverseOp> || std::is_same_v<Op, RoundingOp> ||
                std::is_same_v<Op, SliceOp> || std::is_same_v<Op, TransposeOp>);
      },
      operation);
}

}  // namespace

Value ProgramBuilder::rounded(Value value, Dtype to) {
  const Program::ValueFacts &facts = program_.values.at(value);
  if (to == Dtype::f32 || facts.type.dtype != Dtype::f32 || facts.precision == to) return value;
  const auto known = rounded_.find({value, to});
  if (known != rounded_.end()) return known->second;
  const Value result =
      push({facts.type, Program::Source::computed, program_.steps.size(), facts.has_gradient, to});
  program_.steps.push_back({RoundingOp{to}, {value}, {result}, layer_});
  if (const auto of_value = mask(value)) set_mask(result, *of_value);
  return rounded_[{value, to}] = result;
}

std::optional<Value> ProgramBuilder::mask(Value value) const {
  const auto found = masks_.find(value);
  return found == masks_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Value> ProgramBuilder::add_all(const Operation &operation,
                                           const std::vector<Value> &given) {
  std::vector<Value> inputs;
  for (const Value input : given) inputs.push_back(rounded(input, precision_));
  ArrayTypes types;
  bool has_gradient = false;
  for (const Value input : inputs) {
    types.push_back(type(input));
    has_gradient = has_gradient || program_.values.at(input).has_gradient;
  }
  within_layer([&] { types = infer(operation, types); });
  std::vector<Value> outputs;
  const Dtype precision = only_moves(operation) ? precision_ : Dtype::f32;
  for (const ArrayType &type : types)
    outputs.push_back(push({type, Program::Source::computed, program_.steps.size(),
                            has_gradient && type.dtype == Dtype::f32, precision}));
  program_.steps.push_back({operation, inputs, outputs, layer_});
  return outputs;
}

Value ProgramBuilder::add(const Operation &operation, const std::vector<Value> &inputs) {
  return add_all(operation, inputs).at(0);
}

const Program::Step *ProgramBuilder::producer(Value value) const {
  const Program::ValueFacts &facts = program_.values.at(value);
  return facts.source == Program::Source::computed ? &program_.steps[facts.index] : nullptr;
}

std::optional<Value> ProgramBuilder::before_softmax(Value value) const {
  const Program::Step *step = producer(value);
  if (step != nullptr && std::holds_alternative<RoundingOp>(step->operation))
    step = producer(step->inputs.at(0));
  const auto *softmax = step == nullptr ? nullptr : std::get_if<SoftmaxOp>(&step->operation);
  if (softmax == nullptr || softmax->is_logarithm) return std::nullopt;
  return step->inputs.at(0);
}

namespace {

// Of an operation that ends in an activation.
Activation *fused_activation(Operation &operation) {
  return std::visit(
      [](auto &op) -> Activation * {
        if constexpr (requires { op.activation; }) return &op.activation;
        else return nullptr;
      },
      operation);
}

}  // namespace

std::optional<Value> ProgramBuilder::before_activation(Value value, Activation activation) {
  const Program::Step *last = producer(value);
  if (last == nullptr) return std::nullopt;
  if (const auto *rounding = std::get_if<RoundingOp>(&last->operation)) {
    const Dtype to = rounding->to;
    const auto before = before_activation(last->inputs.at(0), activation);
    return before ? std::optional(rounded(*before, to)) : std::nullopt;
  }
  const size_t at = program_.values[value].index;
  Activation *fused = fused_activation(program_.steps[at].operation);
  if (fused == nullptr || *fused != activation) return std::nullopt;
  if (std::holds_alternative<ActivationOp>(program_.steps[at].operation))
    return program_.steps[at].inputs.at(0);
  *fused = Activation::linear;
  const Value raw = push(program_.values[value]);
  program_.steps[at].outputs = {raw};
  for (Program::ValueFacts &facts : program_.values)
    if (facts.source == Program::Source::computed && facts.index > at) ++facts.index;
  program_.values[value].index = at + 1;
  const Program::Step own{ActivationOp{activation}, {raw}, {value}, program_.steps[at].layer};
  program_.steps.insert(program_.steps.begin() + static_cast<ptrdiff_t>(at) + 1, own);
  return raw;
}

ProgramBuilder::Scope::Scope(ProgramBuilder &builder, const std::string &path,
                             const std::string &described, Dtype precision)
    : builder_(builder),
      path_(builder.path_.size()),
      layer_(builder.layer_),
      precision_(builder.precision_) {
  builder_.path_ += path;
  builder_.layer_ = described;
  builder_.precision_ = precision;
}

ProgramBuilder::Scope::~Scope() {
  builder_.path_.resize(path_);
  builder_.layer_ = layer_;
  builder_.precision_ = precision_;
}

Program ProgramBuilder::finish(const std::vector<Value> &results) {
  program_.results = results;
  return std::move(program_);
}

}  // namespace det::nn
