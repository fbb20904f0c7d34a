// The attributes of cuDNN's descriptors, as far as convolutions need them.
#include "tests/nn/emulated_cuda/emulated_descriptor.h"

// Handles in graphs and plans are deprecated, and versions before want them.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace emulated {

namespace {

using enum Need;

constexpr auto one = false, many = true;
constexpr auto tensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
constexpr auto convolution = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
constexpr auto pointwise = CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
constexpr auto forward = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
constexpr auto backward_data = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
constexpr auto backward_filter = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
constexpr auto pointwise_operation = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
constexpr auto graph = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
constexpr auto heuristic = CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
constexpr auto engine = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
constexpr auto configuration = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
constexpr auto plan = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
constexpr auto pack = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;

constexpr auto child = CUDNN_TYPE_BACKEND_DESCRIPTOR;
constexpr auto integer = CUDNN_TYPE_INT64;
constexpr auto data_type = CUDNN_TYPE_DATA_TYPE;
constexpr auto number = CUDNN_TYPE_FLOAT;

constexpr Rule rules[] = {
    {tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, integer, one, required},
    {tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, data_type, one, required},
    {tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, integer, one, required},
    {tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, integer, many, required},
    {tensor, CUDNN_ATTR_TENSOR_STRIDES, integer, many, required},
    {tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, one, optional},
    {convolution, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, data_type, one, required},
    {convolution, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, one, required},
    {convolution, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, integer, one, required},
    {convolution, CUDNN_ATTR_CONVOLUTION_DILATIONS, integer, many, required},
    {convolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, integer, many, required},
    {convolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, integer, many, required},
    {convolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, integer, many, required},
    {pointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, one, required},
    {pointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, data_type, one, required},
    {pointwise, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, number, one, optional},
    {pointwise, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, number, one, optional},
    {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, child, one, required},
    {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, child, one, required},
    {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, child, one, required},
    {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, child, one, required},
    {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, number, one, required},
    {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, number, one, required},
    {backward_data, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, child, one, required},
    {backward_data, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, child, one, required},
    {backward_data, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, child, one, required},
    {backward_data, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, child, one, required},
    {backward_data, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, number, one, required},
    {backward_data, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, number, one, required},
    {backward_filter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, child, one, required},
    {backward_filter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, child, one, required},
    {backward_filter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, child, one, required},
    {backward_filter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, child, one, required},
    {backward_filter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, number, one, required},
    {backward_filter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, number, one, required},
    {pointwise_operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, child, one, required},
    {pointwise_operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, child, one, required},
    {pointwise_operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, child, one, optional},
    {pointwise_operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, child, one, required},
    {pointwise_operation, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, number, one, optional},
    {pointwise_operation, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, number, one, optional},
    {graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, one, required},
    {graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, child, many, required},
    {graph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, integer, one, computed},
    {heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, child, one, required},
    {heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, one, required},
    {heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, child, many, computed},
    {engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, child, one, required},
    {engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, integer, one, required},
    {engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, many, computed},
    {engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, many, computed},
    {configuration, CUDNN_ATTR_ENGINECFG_ENGINE, child, one, required},
    {plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, one, required},
    {plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, child, one, required},
    {plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, integer, one, computed},
    {pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, integer, many, required},
    {pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, many, required},
    {pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, one, optional},
};

}  // namespace

const Rule &rule_of(const Descriptor &descriptor, int name, cudnnBackendAttributeType_t type) {
  const auto same = type == CUDNN_TYPE_DOUBLE ? CUDNN_TYPE_FLOAT : type;
  for (const Rule &rule : rules)
    if (rule.descriptor == descriptor.type && rule.name == name) {
      if (rule.type == same) return rule;
      throw Refused(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
                    "attribute " + std::to_string(name) + " is of another type");
    }
  throw Refused(CUDNN_STATUS_NOT_SUPPORTED, "there is no attribute " + std::to_string(name) +
                                                " in descriptors of type " +
                                                std::to_string(descriptor.type));
}

void check_required(const Descriptor &descriptor) {
  for (const Rule &rule : rules)
    if (rule.descriptor == descriptor.type && rule.need == required && !descriptor.has(rule.name))
      throw Refused(CUDNN_STATUS_BAD_PARAM, "attribute " + std::to_string(rule.name) +
                                                " is missing in a descriptor of type " +
                                                std::to_string(descriptor.type));
}

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return 4;  // enumerations and FLOAT
  }
}

}  // namespace emulated
