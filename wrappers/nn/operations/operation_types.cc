#include "wrappers/nn/operations/operation_types.h"

#include "core/base/error.h"

namespace det::nn {

void expect_inputs(const ArrayTypes &inputs, size_t fewest, size_t most, const char *operation) {
  if (inputs.size() < fewest || inputs.size() > most)
    throw Error(Code::internal, std::string("adding the operation ") + operation + ": it has " +
                                    std::to_string(inputs.size()) + " inputs");
}

void expect_shape(const ArrayType &type, const Shape &expected, const std::string &what) {
  if (type.shape != expected)
    throw Error(Code::invalid, what + " has the shape " + text_of(type.shape) + ", where only " +
                                   text_of(expected) + " fits");
}

void expect_float(const ArrayType &type, const std::string &what) {
  if (type.dtype != Dtype::f32)
    throw Error(Code::invalid, what + " is an array of " + tensors::name_of(type.dtype) +
                                   "; this is computed in F32 only");
}

}  // namespace det::nn
