// What every operation says of itself.
//
// An operation is what a back end computes at once. It knows its attributes, and by infer() which
// arrays come out for those that go in, or why these cannot be (Code::invalid; the layer is named
// by the caller). How it is computed, forward and backward, is the back ends' (backend.h).
#pragma once

#include <string>
#include <vector>

#include "wrappers/nn/array.h"

namespace det::nn {

using ArrayTypes = std::vector<ArrayType>;

// For infer(): throw Code::invalid where there are not as many inputs, or one has another type.
void expect_inputs(const ArrayTypes &inputs, size_t fewest, size_t most, const char *operation);
void expect_shape(const ArrayType &type, const Shape &expected, const std::string &what);
void expect_float(const ArrayType &type, const std::string &what);

}  // namespace det::nn
