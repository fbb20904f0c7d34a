// An operation of a graph of cuDNN: convolutions and what is done to each number.
#pragma once

#include "tests/nn/emulated_cuda/emulated_descriptor.h"
#include "tests/nn/emulated_cuda/emulated_numbers.h"

namespace emulated {

struct Tensor {
  int64_t id = 0, alignment = 1;
  bool is_virtual = false;
  Number type = Number::f32;
  std::vector<int64_t> dimensions, strides;  // elements; records, channels, space

  // The bytes from the first number to behind the last one.
  size_t span() const;
};

// Of a convolution in each direction of space.
struct Window {
  std::vector<int64_t> strides, dilations, before, after;
};

// A convolution has x, its filter w and y, of which one is the result. Else y is of x, or of x and
// w, which may have dimensions of 1 then.
struct Operation {
  cudnnBackendDescriptorType_t kind;
  Tensor x = {}, w = {}, y = {};
  bool has_w = true;
  double alpha = 1, beta = 0;  // y = alpha f(x, w) + beta y; else y = f(alpha x, beta w)
  Window window = {};
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_IDENTITY;
  double lower = 0, upper = 0;  // what RELU_FWD leaves

  bool is_convolution() const { return kind != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR; }
  const Tensor &result() const;
  std::vector<const Tensor *> tensors() const;  // the result is the last one
};

// From a descriptor, whose children are finalized. Refused if they do not fit each other.
Operation operation_of(const Descriptor &descriptor);
std::vector<Operation> operations_of(const Descriptor &graph);

// Checks a descriptor of a tensor, or of how to compute.
Tensor tensor_of(const Descriptor &descriptor);
Window window_of(const Descriptor &descriptor);
cudnnPointwiseMode_t mode_of(const Descriptor &descriptor);

// Does the operations one after the other, at once; memory by the ids of tensors.
void evaluate(const std::vector<Operation> &operations, std::map<int64_t, void *> memory);

}  // namespace emulated
