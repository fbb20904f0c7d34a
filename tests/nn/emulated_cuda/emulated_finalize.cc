// What descriptors of cuDNN must say before they are used.
#include <bit>

#include "tests/nn/emulated_cuda/emulated_engine.h"

namespace emulated {

namespace {

[[noreturn]] void refuse(const char *why) { throw Refused(CUDNN_STATUS_BAD_PARAM, why); }

void check_list(const std::vector<int64_t> &values, size_t count, int64_t least, const char *why) {
  if (values.size() != count) refuse(why);
  for (const int64_t value : values)
    if (value < least) refuse(why);
}

Number number_type(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return Number::f32;
    case CUDNN_DATA_HALF:
      return Number::f16;
    case CUDNN_DATA_BFLOAT16:
      return Number::bf16;
    default:
      throw Refused(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "the type is not emulated");
  }
}

void check_computed_in_f32(const Descriptor &descriptor, int name) {
  if (descriptor.value<cudnnDataType_t>(name) != CUDNN_DATA_FLOAT)
    throw Refused(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "only float is computed with");
}

void check_pack(const Descriptor &pack) {
  if (pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).size() !=
      pack.list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size())
    refuse("there are not as many pointers as ids");
}

}  // namespace

Tensor tensor_of(const Descriptor &descriptor) {
  Tensor tensor;
  tensor.id = descriptor.value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  tensor.alignment = descriptor.value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  tensor.is_virtual = descriptor.value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  tensor.type = number_type(descriptor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE));
  tensor.dimensions = descriptor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor.strides = descriptor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  const size_t rank = tensor.dimensions.size();
  if (rank < 3 || rank > CUDNN_DIM_MAX)
    throw Refused(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a tensor has 3 to 8 dimensions");
  check_list(tensor.dimensions, rank, 1, "a dimension of a tensor is less than 1");
  check_list(tensor.strides, rank, 1, "each dimension of a tensor has a stride");
  if (tensor.alignment < 1 || !std::has_single_bit(static_cast<uint64_t>(tensor.alignment)))
    refuse("the alignment of a tensor is a power of two");
  return tensor;
}

Window window_of(const Descriptor &descriptor) {
  check_computed_in_f32(descriptor, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
  if (descriptor.value<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) !=
      CUDNN_CROSS_CORRELATION)
    throw Refused(CUDNN_STATUS_NOT_SUPPORTED, "only cross-correlations are emulated");
  const auto space =
      static_cast<size_t>(descriptor.value<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  Window window{descriptor.list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
                descriptor.list<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS),
                descriptor.list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
                descriptor.list<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)};
  check_list(window.strides, space, 1, "each direction of space has a stride of 1 or more");
  check_list(window.dilations, space, 1, "each direction of space has a dilation of 1 or more");
  check_list(window.before, space, 0, "each direction of space has a padding before");
  check_list(window.after, space, 0, "each direction of space has a padding after");
  return window;
}

cudnnPointwiseMode_t mode_of(const Descriptor &descriptor) {
  check_computed_in_f32(descriptor, CUDNN_ATTR_POINTWISE_MATH_PREC);
  const auto mode = descriptor.value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
    case CUDNN_POINTWISE_MUL:
    case CUDNN_POINTWISE_IDENTITY:
    case CUDNN_POINTWISE_RELU_FWD:
      return mode;
    default:
      throw Refused(CUDNN_STATUS_NOT_SUPPORTED, "this pointwise mode is not emulated");
  }
}

void finalize(Descriptor &descriptor) {
  check_required(descriptor);
  switch (descriptor.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      tensor_of(descriptor);
      break;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      window_of(descriptor);
      break;
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      mode_of(descriptor);
      break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      operation_of(descriptor);
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      finalize_graph(descriptor);
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      finalize_heuristic(descriptor);
      break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      finalize_engine(descriptor);
      break;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      finalize_configuration(descriptor);
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      finalize_plan(descriptor);
      break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      check_pack(descriptor);
      break;
    default:
      throw Refused(CUDNN_STATUS_NOT_SUPPORTED, "such descriptors are not emulated");
  }
}

}  // namespace emulated
