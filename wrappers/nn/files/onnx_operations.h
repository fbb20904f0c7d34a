// How each operation is said in ONNX.
#pragma once

#include "wrappers/nn/files/onnx_graph.h"
#include "wrappers/nn/model_program.h"

namespace det::nn {

// The names of what the step gives. `sizes` has the shape of each of its outputs, with `unknown`
// where the batch counts. Throws Code::unsupported, naming the layer, for what ONNX does not have.
std::vector<std::string> write_step(OnnxGraph &graph, const Program::Step &step,
                                    const std::vector<std::string> &inputs,
                                    const std::vector<Shape> &sizes);

}  // namespace det::nn
