#include "wrappers/nn/files/onnx_writer.h"

#include <cstring>

#include "core/base/error.h"
#include "core/base/file.h"
#include "wrappers/nn/files/onnx_graph.h"
#include "wrappers/nn/files/onnx_operations.h"

namespace det::nn {

namespace {

// Sizes that inputs may leave open: such that what depends on them differs.
constexpr int64_t one_size = 64;
// Even and odd ones, also when they are halved again and again.
constexpr int64_t other_sizes[] = {131, 97, 77};

std::vector<Shape> input_shapes(const Graph &graph, int64_t records, int64_t open = one_size) {
  if (auto shapes = graph.input_shapes(records, open)) return *shapes;
  throw Error(Code::unsupported,
              "writing the model '" + graph.name() +
                  "' as ONNX: it does not say what comes in; give it an InputLayer");
}

// The same at several sizes of what is left open. The first is as it is; the second has more
// records, and the third other sizes of all else.
class Variants {
 public:
  explicit Variants(Model &model) {
    const Graph &graph = model.graph();
    programs_.push_back(model.prediction_program(input_shapes(graph, 2)));
    programs_.push_back(model.prediction_program(input_shapes(graph, 3)));
    for (const int64_t size : other_sizes)
      programs_.push_back(model.prediction_program(input_shapes(graph, 2, size)));
    for (const Program &one : programs_)
      if (one.steps.size() != program().steps.size() ||
          one.constants.size() != program().constants.size())
        refuse(model);
    for (size_t i = 0; i < program().constants.size(); ++i)
      if (const Array &one = program().constants[i], &other = programs_.back().constants[i];
          one.shape() != other.shape() || std::memcmp(one.raw(), other.raw(), one.bytes()) != 0)
        refuse(model);
  }

  const Program &program() const { return programs_[0]; }

  // With `unknown` for sizes that differ.
  ArrayType type_of(Value value) const {
    ArrayType type = program().values[value].type;
    for (const Program &one : programs_)
      for (size_t i = 0; i < type.shape.size(); ++i)
        if (one.values[value].type.shape.at(i) != program().values[value].type.shape[i])
          type.shape[i] = unknown;
    return type;
  }

  std::vector<OnnxVariant> of_step(size_t number) const {
    std::vector<OnnxVariant> variants;
    for (const Program &one : programs_) {
      const Program::Step &step = one.steps[number];
      variants.push_back({&step.operation, {}, {}});
      for (const Value value : step.inputs)
        variants.back().inputs.push_back(one.values[value].type.shape);
      for (const Value value : step.outputs)
        variants.back().outputs.push_back(one.values[value].type.shape);
    }
    return variants;
  }

 private:
  [[noreturn]] static void refuse(const Model &model) {
    throw Error(Code::unsupported,
                "writing the model '" + model.graph().name() +
                    "' as ONNX: what it computes depends on a size that an input leaves open; say "
                    "how long sequences and how large images are");
  }

  std::vector<Program> programs_;
};

}  // namespace

void write_onnx(Model &model, const std::filesystem::path &path) {
  model.check_built();
  const Graph &graph = model.graph();
  const Variants variants(model);
  const Program &program = variants.program();
  const auto type_of = [&](Value value) { return variants.type_of(value); };

  OnnxGraph written;
  std::vector<std::string> names(program.values.size());
  for (size_t i = 0; i < program.fed.size(); ++i) {
    const Value value = program.fed[i];
    names[value] = written.name_like(graph.inputs()[i].name);
    written.add_input(names[value], type_of(value));
  }
  std::vector<std::string> results;
  for (size_t i = 0; i < program.results.size(); ++i) {
    results.push_back(written.name_like(graph.result_names()[i]));
    written.add_output(results[i], type_of(program.results[i]));
  }
  for (Value value = 0; value < names.size(); ++value) {
    const Program::ValueFacts &facts = program.values[value];
    if (facts.source == Program::Source::constant)
      names[value] = written.constant(program.constants[facts.index]);
    if (facts.source != Program::Source::weight) continue;
    const Weight &weight = model.weights().at(facts.index);
    names[value] = written.name_like(weight.name);
    written.add_weight(names[value], weight.value);
  }
  for (size_t number = 0; number < program.steps.size(); ++number) {
    const Program::Step &step = program.steps[number];
    OnnxOperands operands;
    operands.variants = variants.of_step(number);
    for (const Value input : step.inputs) {
      operands.inputs.push_back(names[input]);
      operands.types.push_back(type_of(input));
    }
    for (const Value output : step.outputs) operands.sizes.push_back(type_of(output).shape);
    const std::vector<std::string> outputs = write_step(written, step, operands);
    for (size_t i = 0; i < outputs.size(); ++i) names[step.outputs[i]] = outputs[i];
  }
  for (size_t i = 0; i < results.size(); ++i)
    written.add_as({results[i]}, "Identity", {names[program.results[i]]});
  write_file_durably(std::filesystem::absolute(path), written.finish(graph.name()));
}

}  // namespace det::nn
