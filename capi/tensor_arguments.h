// Tensors that callers give, as the core takes them.
#pragma once

#include <det/tensors.h>

#include <functional>
#include <vector>

#include "core/tensors/tensor.h"

// The shape of the tensor that the caller gave a part of, or all, without saying it. Whether it is
// a part he says by an offset.
using WholeShape =
    std::function<det::tensors::Shape(const det::tensors::Tensor &tensor, bool is_part)>;

inline det::tensors::Shape own_shape(const det::tensors::Tensor &tensor, bool /*is_part*/) {
  return tensor.region.shape;
}

// Throws Code::invalid, naming the tensor.
std::vector<det::tensors::Tensor> tensors_from(const det_tensor *given, size_t count,
                                               const WholeShape &whole);
