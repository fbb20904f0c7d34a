#include "wrappers/nn/files/onnx_writer.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "wrappers/nn/files/onnx_operations.h"

namespace det::nn {

namespace {

// The sizes that differ between batches of two lengths are the batch's.
Shape common_sizes(const Shape &one, const Shape &other) {
  Shape common = one;
  for (size_t i = 0; i < common.size(); ++i)
    if (common[i] != other.at(i)) common[i] = unknown;
  return common;
}

std::vector<Shape> input_shapes(const Graph &graph, int64_t records) {
  if (auto shapes = graph.input_shapes(records)) return *shapes;
  throw Error(Code::unsupported, "writing the model '" + graph.name() +
                                     "' as ONNX: an input does not say all sizes beside that of "
                                     "the batch");
}

}  // namespace

void write_onnx(Model &model, const std::filesystem::path &path) {
  model.check_built();
  const Graph &graph = model.graph();
  const Program program = model.prediction_program(input_shapes(graph, 2));
  const Program other = model.prediction_program(input_shapes(graph, 3));
  const auto type_of = [&](Value value) {
    ArrayType type = program.values[value].type;
    type.shape = common_sizes(type.shape, other.values[value].type.shape);
    return type;
  };

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
  for (const Program::Step &step : program.steps) {
    OnnxOperands operands;
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
