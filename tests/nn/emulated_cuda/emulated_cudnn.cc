// The handle of cuDNN, its errors, and the execution of plans.
#include <new>

#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_engine.h"
#include "tests/nn/emulated_cuda/emulated_memory.h"
#include "tests/nn/emulated_cuda/emulated_operation.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace emulated {

namespace {

thread_local std::string last_refusal;

// What a pack says of a tensor; checked as far as it can be before the work is done.
void *memory_of(const Tensor &tensor, const std::map<int64_t, void *> &packed) {
  const auto found = packed.find(tensor.id);
  if (found == packed.end() || found->second == nullptr)
    throw Refused(CUDNN_STATUS_BAD_PARAM,
                  "the pack has no memory of tensor " + std::to_string(tensor.id));
  if (reinterpret_cast<uintptr_t>(found->second) % static_cast<uintptr_t>(tensor.alignment) != 0)
    throw Refused(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
                  "the memory of tensor " + std::to_string(tensor.id) + " is not aligned as said");
  return found->second;
}

std::map<int64_t, void *> packed_memory(const Descriptor &pack) {
  const auto ids = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, void *> packed;
  for (size_t i = 0; i < ids.size(); ++i) packed[ids[i]] = pointers[i];
  return packed;
}

void execute(cudnnHandle_t handle, const Descriptor &plan, const Descriptor &pack) {
  const auto operations = operations_of(
      plan.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  std::map<int64_t, void *> memory;
  const auto packed = packed_memory(pack);
  for (const Operation &operation : operations)
    for (const Tensor *tensor : operation.tensors())
      if (!tensor->is_virtual) memory[tensor->id] = memory_of(*tensor, packed);
  void *const workspace = pack.value<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (workspace == nullptr) throw Refused(CUDNN_STATUS_BAD_PARAM, "the pack has no workspace");
  enqueue(handle->stream, [operations, memory, workspace] {
    if (!is_reachable(workspace, plan_workspace)) return access_illegal_address();
    // Whoever keeps something there learns of it.
    std::memset(workspace, 0xff, plan_workspace);
    evaluate(operations, memory);
  });
}

}  // namespace

cudnnStatus_t guarded(const std::function<void()> &call) {
  const auto lock = locked();
  try {
    call();
    return CUDNN_STATUS_SUCCESS;
  } catch (const Refused &refused) {
    last_refusal = refused.what();
    return refused.status;
  }
}

}  // namespace emulated

using namespace emulated;

size_t cudnnGetVersion() { return CUDNN_VERSION; }

const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (CUDNN_STATUS_CATEGORY(status)) {
    case CUDNN_STATUS_SUCCESS:
      return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS"
                                            : "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "unknown status";
  }
}

void cudnnGetLastErrorString(char *message, size_t size) {
  if (size == 0) return;
  const size_t length = last_refusal.copy(message, size - 1);
  message[length] = '\0';
  last_refusal.clear();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  return guarded([&] {
    if (device_error() != cudaSuccess)
      throw Refused(CUDNN_STATUS_NOT_INITIALIZED, "there is no device, or it failed");
    *handle = new cudnnContext;
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return guarded([&] {
    if (handle == nullptr) throw Refused(CUDNN_STATUS_BAD_PARAM, "there is no handle");
    handle->stream = stream;
  });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  return guarded([&] {
    if (device_error() != cudaSuccess)
      throw Refused(CUDNN_STATUS_EXECUTION_FAILED, "the device failed");
    const Descriptor &executed = finalized_at(plan), &packed = finalized_at(pack);
    if (handle == nullptr || executed.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        packed.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
      throw Refused(CUDNN_STATUS_BAD_PARAM, "a handle, a plan and a pack are needed");
    execute(handle, executed, packed);
  });
}
