#include "tests/nn/emulated_cuda/convolution_graph.h"

// As long as versions of cuDNN want handles in graphs and plans.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace det::test {

namespace {

Sizes strides_of(const Sizes &sizes, bool channels_last) {
  Sizes strides(sizes.size());
  int64_t stride = channels_last ? sizes[1] : 1;
  for (size_t i = sizes.size(); i-- > 2; stride *= sizes[i]) strides[i] = stride;
  strides[1] = channels_last ? 1 : stride;
  strides[0] = channels_last ? stride : stride * sizes[1];
  return strides;
}

// The attributes of a convolution, in the order in which add_convolution() takes what they are.
struct Names {
  int window, x, w, y, alpha, beta;
};

Names names_of(cudnnBackendDescriptorType_t kind) {
  switch (kind) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

}  // namespace

using Handle = cudnnBackendDescriptor_t;

ConvolutionGraph::ConvolutionGraph() { note(cudnnCreate(&handle)); }

ConvolutionGraph::~ConvolutionGraph() {
  for (const auto each : made) cudnnBackendDestroyDescriptor(each);
  cudnnDestroy(handle);
}

Handle ConvolutionGraph::make(cudnnBackendDescriptorType_t type) {
  made.emplace_back();
  note(cudnnBackendCreateDescriptor(type, &made.back()));
  return made.back();
}

Handle ConvolutionGraph::tensor(int64_t id, const Sizes &sizes, cudnnDataType_t type,
                                bool is_virtual) {
  const auto tensor = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, Sizes{id});
  set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, Sizes{16});
  set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{type});
  set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes);
  set(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides_of(sizes, channels_last));
  note(cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
                                &is_virtual));
  finalize(tensor);
  return tensor;
}

Handle ConvolutionGraph::window(const Sizes &strides, const Sizes &dilations, const Sizes &before,
                                const Sizes &after) {
  const auto window = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(window, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
      std::vector{CUDNN_DATA_FLOAT});
  set(window, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
      std::vector{CUDNN_CROSS_CORRELATION});
  set(window, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
      Sizes{static_cast<int64_t>(strides.size())});
  set(window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, strides);
  set(window, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, dilations);
  set(window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, before);
  set(window, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, after);
  finalize(window);
  return window;
}

void ConvolutionGraph::add_convolution(cudnnBackendDescriptorType_t kind, Handle window, Handle x,
                                       Handle w, Handle y, float alpha, float beta) {
  const auto operation = make(kind);
  const Names names = names_of(kind);
  set_child(operation, names.window, window);
  set_child(operation, names.x, x);
  set_child(operation, names.w, w);
  set_child(operation, names.y, y);
  set(operation, names.alpha, CUDNN_TYPE_FLOAT, std::vector{alpha});
  set(operation, names.beta, CUDNN_TYPE_FLOAT, std::vector{beta});
  finalize(operation);
  operations.push_back(operation);
}

void ConvolutionGraph::add_pointwise(cudnnPointwiseMode_t mode, Handle x, Handle second, Handle y) {
  const auto how = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, std::vector{mode});
  set(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_FLOAT});
  finalize(how);
  const auto operation = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (second != nullptr) set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, second);
  set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  finalize(operation);
  operations.push_back(operation);
}

Handle ConvolutionGraph::heuristic() {
  const auto graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, std::vector{handle});
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations);
  finalize(graph);
  const auto heuristic = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set_child(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, std::vector{CUDNN_HEUR_MODE_A});
  finalize(heuristic);
  return heuristic;
}

Handle ConvolutionGraph::configuration(Handle heuristic) {
  auto configuration = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  int64_t count = 0;
  note(cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &configuration));
  return configuration;
}

Handle ConvolutionGraph::plan(Handle configuration) {
  const auto plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, std::vector{handle});
  set_child(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  finalize(plan);
  return plan;
}

Handle ConvolutionGraph::pack(const Sizes &ids, const std::vector<void *> &memory,
                              void *workspace) {
  const auto pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
  set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, memory);
  if (workspace != nullptr)
    set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, std::vector{workspace});
  finalize(pack);
  return pack;
}

}  // namespace det::test
