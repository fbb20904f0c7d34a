// A model as a table to look at: what each layer gives, and how many parameters it has.
#pragma once

#include <string>
#include <vector>

#include "wrappers/nn/model/graph.h"

namespace det::nn {

// `some` and `others` are shapes of what comes in that differ where a size is not known, such as
// that of the batch. Throws Code::invalid for those that do not fit.
std::string summary_of(const Graph &graph, const std::vector<Shape> &some,
                       const std::vector<Shape> &others);

}  // namespace det::nn
