// A descriptor of cuDNN's graphs: attributes that are set, then settled.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "wrappers/nn/cuda/cuda_context.h"

namespace det::nn {

class CudnnDescriptor {
 public:
  CudnnDescriptor(cudnnBackendDescriptorType_t type, std::string_view doing) : doing_(doing) {
    cudnnBackendDescriptor_t handle = nullptr;
    check_cudnn(cudnnBackendCreateDescriptor(type, &handle), doing);
    handle_.reset(handle);
  }

  cudnnBackendDescriptor_t get() const { return handle_.get(); }

  CudnnDescriptor &set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       int64_t count, const void *values) {
    check_cudnn(cudnnBackendSetAttribute(handle_.get(), name, type, count, values), doing_);
    return *this;
  }
  template <class Value>
  CudnnDescriptor &set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       const Value &value) {
    return set(name, type, 1, &value);
  }
  CudnnDescriptor &set(cudnnBackendAttributeName_t name, const std::vector<int64_t> &values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  CudnnDescriptor &set(cudnnBackendAttributeName_t name, const CudnnDescriptor &other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.get());
  }

  // Whether cuDNN takes it: a graph that it cannot compute is refused here.
  bool try_finalize() { return cudnnBackendFinalize(handle_.get()) == CUDNN_STATUS_SUCCESS; }
  CudnnDescriptor &finalize() {
    check_cudnn(cudnnBackendFinalize(handle_.get()), doing_);
    return *this;
  }

 private:
  struct Destroy {
    void operator()(void *handle) const { cudnnBackendDestroyDescriptor(handle); }
  };

  std::string_view doing_;
  std::unique_ptr<void, Destroy> handle_;
};

}  // namespace det::nn
