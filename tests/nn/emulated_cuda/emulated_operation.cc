#include "tests/nn/emulated_cuda/emulated_operation.h"

#include <algorithm>
#include <limits>

namespace emulated {

namespace {

[[noreturn]] void refuse_shape(const char *why) {
  throw Refused(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, why);
}

Tensor tensor_at(const Descriptor &descriptor, int name) {
  return tensor_of(descriptor.child(name, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
}

void check_shapes(const Operation &operation) {
  const auto &[x, w, y] =
      std::tie(operation.x.dimensions, operation.w.dimensions, operation.y.dimensions);
  const Window &window = operation.window;
  const size_t rank = x.size();
  if (rank < 4)
    throw Refused(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "convolutions have two directions or more");
  if (w.size() != rank || y.size() != rank || window.strides.size() != rank - 2)
    refuse_shape("the tensors of a convolution have different ranks");
  if (x[0] != y[0] || y[1] != w[0] || x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0)
    refuse_shape("records, channels or groups of a convolution do not fit");
  for (size_t i = 0; i + 2 < rank; ++i) {
    const int64_t padded = x[i + 2] + window.before[i] + window.after[i];
    const int64_t filter = (w[i + 2] - 1) * window.dilations[i] + 1;
    if (padded < filter || y[i + 2] != (padded - filter) / window.strides[i] + 1)
      refuse_shape("the space of y is not what a convolution of x has");
  }
}

Operation convolution_of(const Descriptor &descriptor, int convolution, int x, int w, int y,
                         int alpha, int beta) {
  Operation operation{.kind = descriptor.type,
                      .x = tensor_at(descriptor, x),
                      .w = tensor_at(descriptor, w),
                      .y = tensor_at(descriptor, y)};
  operation.alpha = descriptor.number(alpha, 1);
  operation.beta = descriptor.number(beta, 0);
  operation.window = window_of(descriptor.child(convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  check_shapes(operation);
  return operation;
}

Operation pointwise_of(const Descriptor &descriptor) {
  const Descriptor &how = descriptor.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                                           CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  Operation operation{.kind = descriptor.type,
                      .x = tensor_at(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                      .y = tensor_at(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_YDESC)};
  operation.mode = mode_of(how);
  operation.lower = how.number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
  operation.upper =
      how.number(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, std::numeric_limits<double>::infinity());
  operation.alpha = descriptor.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
  operation.beta = descriptor.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
  operation.has_w = descriptor.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  const bool of_two =
      operation.mode == CUDNN_POINTWISE_ADD || operation.mode == CUDNN_POINTWISE_MUL;
  if (operation.has_w != of_two)
    throw Refused(CUDNN_STATUS_BAD_PARAM, "a pointwise mode is of one tensor, or of two");
  if (operation.has_w) operation.w = tensor_at(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  if (operation.x.dimensions != operation.y.dimensions)
    refuse_shape("a pointwise operation changes no shape");
  for (size_t i = 0; operation.has_w && i < operation.y.dimensions.size(); ++i)
    if (operation.w.dimensions.size() != operation.y.dimensions.size() ||
        (operation.w.dimensions[i] != 1 && operation.w.dimensions[i] != operation.y.dimensions[i]))
      refuse_shape("the second tensor of a pointwise operation does not fit the first");
  return operation;
}

}  // namespace

size_t Tensor::span() const {
  int64_t last = 0;
  for (size_t i = 0; i < dimensions.size(); ++i) last += (dimensions[i] - 1) * strides[i];
  return static_cast<size_t>(last + 1) * size_of(type);
}

const Tensor &Operation::result() const {
  switch (kind) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return x;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return w;
    default:
      return y;
  }
}

std::vector<const Tensor *> Operation::tensors() const {
  std::vector<const Tensor *> all;
  for (const Tensor *tensor : {&x, &w, &y})
    if (tensor != &result() && (tensor != &w || has_w)) all.push_back(tensor);
  all.push_back(&result());
  return all;
}

Operation operation_of(const Descriptor &descriptor) {
  switch (descriptor.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return convolution_of(descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return convolution_of(descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return convolution_of(descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return pointwise_of(descriptor);
    default:
      throw Refused(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "this is no operation");
  }
}

std::vector<Operation> operations_of(const Descriptor &graph) {
  std::vector<Operation> operations;
  for (const auto handle : graph.list<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS))
    operations.push_back(operation_of(finalized_at(handle)));
  return operations;
}

}  // namespace emulated
