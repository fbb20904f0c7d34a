// Graphs of cuDNN's backend API for tests: descriptors that are there as long as the graph.
#pragma once

#include <cudnn.h>

#include <vector>

namespace det::test {

using Sizes = std::vector<int64_t>;

struct ConvolutionGraph {
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;  // the first that was none
  std::vector<cudnnBackendDescriptor_t> made, operations;
  bool channels_last = true;

  ConvolutionGraph();
  ConvolutionGraph(const ConvolutionGraph &) = delete;
  ConvolutionGraph &operator=(const ConvolutionGraph &) = delete;
  ~ConvolutionGraph();

  // All of these are finalized.
  cudnnBackendDescriptor_t tensor(int64_t id, const Sizes &sizes,
                                  cudnnDataType_t type = CUDNN_DATA_FLOAT, bool is_virtual = false);
  cudnnBackendDescriptor_t window(const Sizes &strides, const Sizes &dilations, const Sizes &before,
                                  const Sizes &after);
  // Each adds an operation; of the tensors of a convolution the kind says which is the result.
  void add_convolution(cudnnBackendDescriptorType_t kind, cudnnBackendDescriptor_t window,
                       cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t w,
                       cudnnBackendDescriptor_t y, float alpha = 1, float beta = 0);
  void add_pointwise(cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t x,
                     cudnnBackendDescriptor_t second, cudnnBackendDescriptor_t y);
  cudnnBackendDescriptor_t heuristic();                                        // of the operations
  cudnnBackendDescriptor_t configuration(cudnnBackendDescriptor_t heuristic);  // the first one
  cudnnBackendDescriptor_t plan(cudnnBackendDescriptor_t configuration);
  cudnnBackendDescriptor_t pack(const Sizes &ids, const std::vector<void *> &memory,
                                void *workspace);

  cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type);
  void finalize(cudnnBackendDescriptor_t descriptor) { note(cudnnBackendFinalize(descriptor)); }
  void note(cudnnStatus_t now) {
    if (status == CUDNN_STATUS_SUCCESS) status = now;
  }
  template <class T>
  void set(cudnnBackendDescriptor_t descriptor, int name, cudnnBackendAttributeType_t type,
           const std::vector<T> &values) {
    note(cudnnBackendSetAttribute(descriptor, static_cast<cudnnBackendAttributeName_t>(name), type,
                                  static_cast<int64_t>(values.size()), values.data()));
  }
  void set_child(cudnnBackendDescriptor_t descriptor, int name, cudnnBackendDescriptor_t child) {
    set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector{child});
  }
};

}  // namespace det::test
