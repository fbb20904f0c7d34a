#include "tests/nn/emulated_cuda/emulated_engine.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "tests/nn/emulated_cuda/emulated_device.h"

namespace emulated {

namespace {

constexpr int graph_name = CUDNN_ATTR_ENGINE_OPERATION_GRAPH;
constexpr int index_name = CUDNN_ATTR_ENGINE_GLOBAL_INDEX;

// The first engine of a graph is exact; the second, of gradients, stands for those whose sums come
// in any order.
constexpr int64_t any_order_engine = 1;

const Descriptor &graph_of(const Descriptor &descriptor, int name) {
  return descriptor.child(name, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
}

// On real devices no order but these is quick, and no two of them fit each other.
bool may_be(const Tensor &tensor, bool channels_last) {
  const auto &sizes = tensor.dimensions;
  const int64_t space =
      std::accumulate(sizes.begin() + 2, sizes.end(), int64_t{1}, std::multiplies());
  if (sizes[1] == 1 || space == 1) return true;
  return (channels_last ? tensor.strides[1] : tensor.strides.back()) == 1;
}

bool is_supported(const Operation &operation) {
  if (!operation.is_convolution()) return true;
  const auto all = operation.tensors();
  const auto be = [](bool last) {
    return [last](const Tensor *tensor) { return may_be(*tensor, last); };
  };
  return all[0]->type == all[1]->type &&
         (std::ranges::all_of(all, be(true)) || std::ranges::all_of(all, be(false)));
}

// Whether there is an engine for a graph.
void check_supported(const std::vector<Operation> &operations) {
  const bool fused = operations.size() > 1;
  if (fused && failure().fused)
    throw Refused(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "as EMULATED_CUDA_FAIL wants it");
  for (const Operation &operation : operations) {
    if (!is_supported(operation))
      throw Refused(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT,
                    "a convolution has channels first and last, or two types");
    const bool scaled = operation.is_convolution() && (operation.alpha != 1 || operation.beta != 0);
    if (fused && scaled)
      throw Refused(CUDNN_STATUS_NOT_SUPPORTED, "fused, alpha is 1 and beta is 0");
    if (fused && &operation != &operations.back() && !operation.result().is_virtual)
      throw Refused(CUDNN_STATUS_NOT_SUPPORTED, "fused, what is between operations is virtual");
  }
}

void set_engine(Descriptor &descriptor, cudnnBackendDescriptor_t graph, int64_t index) {
  descriptor.set(graph_name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
  descriptor.set(index_name, CUDNN_TYPE_INT64, 1, &index);
}

void copy_engine(Descriptor &to, const Descriptor &from) {
  set_engine(to, from.value<cudnnBackendDescriptor_t>(graph_name), from.value<int64_t>(index_name));
}

int64_t count_engines(const Descriptor &graph) {
  const auto operations = operations_of(graph);
  const bool backward =
      operations[0].is_convolution() &&
      operations[0].kind != CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  return backward ? 2 : 1;
}

// A descriptor that the caller made, to be filled.
Descriptor &empty_at(cudnnBackendDescriptor_t handle, cudnnBackendDescriptorType_t type) {
  Descriptor &descriptor = descriptor_at(handle);
  if (descriptor.type != type || descriptor.finalized)
    throw Refused(CUDNN_STATUS_BAD_PARAM, "what is to be filled is of another type, or filled");
  return descriptor;
}

}  // namespace

void finalize_graph(Descriptor &graph) {
  std::set<int64_t> written;
  for (const Operation &operation : operations_of(graph)) {
    const auto tensors = operation.tensors();
    for (size_t i = 0; i + 1 < tensors.size(); ++i)
      if (tensors[i]->is_virtual && !written.contains(tensors[i]->id))
        throw Refused(CUDNN_STATUS_BAD_PARAM, "a virtual tensor is read before it is written");
    if (!written.insert(tensors.back()->id).second)
      throw Refused(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "a tensor is written twice");
  }
  const int64_t count = count_engines(graph);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1, &count);
}

void finalize_heuristic(Descriptor &heuristic) {
  check_supported(operations_of(graph_of(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)));
}

void finalize_engine(Descriptor &engine) {
  const int64_t index = engine.value<int64_t>(index_name);
  if (index < 0 || index >= count_engines(graph_of(engine, graph_name)))
    throw Refused(CUDNN_STATUS_BAD_PARAM, "there is no engine of this index");
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (index == any_order_engine) notes = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
  engine.set(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, notes);
  engine.set(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
             std::vector<cudnnBackendBehaviorNote_t>());
}

void finalize_configuration(Descriptor &configuration) {
  copy_engine(configuration,
              configuration.child(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
}

void finalize_plan(Descriptor &plan) {
  copy_engine(plan, plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                               CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  check_supported(operations_of(graph_of(plan, graph_name)));
  if (failure().graphs) throw Refused(CUDNN_STATUS_NOT_SUPPORTED, "as EMULATED_CUDA_FAIL wants it");
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &plan_workspace);
}

int64_t fill_engines(const Descriptor &from, int64_t room, cudnnBackendDescriptor_t *to) {
  if (from.type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) {
    if (to == nullptr || room < 1) return 1;
    Descriptor &engine = empty_at(to[0], CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    copy_engine(engine, from);
    finalize_engine(engine);
    engine.finalized = true;
    return 1;
  }
  const auto graph = from.value<cudnnBackendDescriptor_t>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const int64_t count = count_engines(finalized_at(graph));
  // The quickest one first, which is not exact where there are two.
  for (int64_t i = 0; to != nullptr && i < std::min(room, count); ++i) {
    Descriptor &configuration = empty_at(to[i], CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    set_engine(configuration, graph, count - 1 - i);
    configuration.finalized = true;
  }
  return count;
}

}  // namespace emulated
