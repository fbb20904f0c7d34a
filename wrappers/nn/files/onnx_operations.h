// How each operation is said in ONNX.
#pragma once

#include "wrappers/nn/files/onnx_graph.h"
#include "wrappers/nn/program/model_program.h"

namespace det::nn {

// The same step of a batch of another size.
struct OnnxVariant {
  const Operation *operation;
  std::vector<Shape> inputs, outputs;
};

// What a step is given and gives: names, and shapes with `unknown` where a size is left open.
struct OnnxOperands {
  std::vector<std::string> inputs;
  std::vector<ArrayType> types;  // of the inputs
  std::vector<Shape> sizes;      // of the outputs
  // As it is, of more records, and of other sizes that inputs leave open.
  std::vector<OnnxVariant> variants;
};

// The names of what the step gives. Throws Code::unsupported, naming the layer, for what ONNX does
// not have.
std::vector<std::string> write_step(OnnxGraph &graph, const Program::Step &step,
                                    const OnnxOperands &operands);

}  // namespace det::nn
