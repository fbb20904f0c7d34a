#include "wrappers/nn/cuda/convolution_plan.h"

#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "wrappers/nn/cuda/cuda_context.h"

namespace det::nn {

// A descriptor of cuDNN's graphs: attributes that are set, then settled.

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

namespace {

constexpr std::string_view preparing = "preparing a convolution on the GPU";

enum Id : int64_t { id_of_x = 1, id_of_kernel, id_of_y, id_of_bias, id_of_sums, id_of_biased };

cudnnDataType_t type_of(Dtype dtype) {
  return dtype == Dtype::bf16  ? CUDNN_DATA_BFLOAT16
         : dtype == Dtype::f16 ? CUDNN_DATA_HALF
                               : CUDNN_DATA_FLOAT;
}

// Of a shape whose channels are the last; cuDNN counts them second wherever they lie.
CudnnDescriptor tensor(Id id, const Shape &shape, cudnnDataType_t type, bool is_virtual = false) {
  const int64_t n = shape[0], height = shape[1], width = shape[2], channels = shape[3];
  CudnnDescriptor one(CUDNN_BACKEND_TENSOR_DESCRIPTOR, preparing);
  one.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {n, channels, height, width})
      .set(CUDNN_ATTR_TENSOR_STRIDES, {height * width * channels, 1, width * channels, channels})
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, int64_t{id})
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t{16})
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  one.finalize();
  return one;
}

// Ways that are no good here: those of other bits at each run, and for whole floats those that
// round what goes in or add up otherwise.
bool is_wanted(cudnnBackendDescriptor_t configuration, Dtype precision) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR, preparing);
  cudnnBackendDescriptor_t handle = engine.get();
  int64_t count = 0;
  if (cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                               &handle) != CUDNN_STATUS_SUCCESS)
    return false;
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  if (cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                               CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count,
                               notes) != CUDNN_STATUS_SUCCESS)
    return false;
  for (int64_t i = 0; i < count; ++i) {
    if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) return false;
    if (precision == Dtype::f32 && notes[i] != CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP) return false;
    if (notes[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) return false;
  }
  return true;
}

using Descriptors = std::vector<CudnnDescriptor>;

class GraphPlan : public ConvolutionPlan {
 public:
  GraphPlan(CudaContextPtr context, CudnnDescriptor plan, CudnnDescriptor pack, Descriptors used)
      : context_(std::move(context)),
        used_(std::move(used)),
        plan_(std::move(plan)),
        pack_(std::move(pack)) {}

  void run() const override {
    check_cudnn(cudnnBackendExecute(context_->convolutions(), plan_.get(), pack_.get()),
                "convolving on the GPU");
  }

 private:
  const CudaContextPtr context_;
  const Descriptors used_;  // by the plan
  const CudnnDescriptor plan_, pack_;
};

class GraphBuilder {
 public:
  GraphBuilder(CudaContextPtr context, const ConvolutionShape &shape,
               const ConvolutionArrays &arrays)
      : context_(std::move(context)), shape_(shape), arrays_(arrays) {}

  std::unique_ptr<ConvolutionPlan> build(ConvolutionPart part) {
    const cudnnDataType_t in = type_of(shape_.precision);
    const cudnnDataType_t out = type_of(shape_.result);
    const auto type_for = [&](ConvolutionPart written) { return part == written ? out : in; };
    use(id_of_x, arrays_.x, shape_.x, type_for(ConvolutionPart::of_input));
    use(id_of_kernel, arrays_.kernel, shape_.kernel, type_for(ConvolutionPart::of_kernel));
    use(id_of_y, arrays_.y, shape_.y, type_for(ConvolutionPart::forward));
    if (part == ConvolutionPart::forward) {
      add_forward();
    } else if (part == ConvolutionPart::of_input) {
      add_convolution(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
                      tensors_[2]);
    } else {
      add_convolution(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
                      tensors_[2]);
    }
    return plan();
  }

 private:
  struct ConvolutionAttributes {
    cudnnBackendAttributeName_t convolution, x, kernel, y, alpha, beta;
  };

  void use(Id id, const void *data, const Shape &shape, cudnnDataType_t type) {
    tensors_.push_back(tensor(id, shape, type));
    ids_.push_back(id);
    addresses_.push_back(const_cast<void *>(data));
  }

  // x * kernel, and what follows it through tensors that have no memory.
  void add_forward() {
    const ConvolutionAttributes attributes{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    constexpr auto type = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    if (arrays_.bias == nullptr) return add_convolution(type, attributes, tensors_[2]);
    inner_.reserve(2);
    inner_.push_back(tensor(id_of_sums, shape_.y, CUDNN_DATA_FLOAT, true));
    add_convolution(type, attributes, inner_[0]);
    use(id_of_bias, arrays_.bias, {1, 1, 1, shape_.y[3]}, CUDNN_DATA_FLOAT);
    if (arrays_.is_relu) inner_.push_back(tensor(id_of_biased, shape_.y, CUDNN_DATA_FLOAT, true));
    const CudnnDescriptor &biased = arrays_.is_relu ? inner_[1] : tensors_[2];
    add_pointwise(CUDNN_POINTWISE_ADD, inner_[0], &tensors_.back(), biased);
    if (arrays_.is_relu) add_pointwise(CUDNN_POINTWISE_RELU_FWD, inner_[1], nullptr, tensors_[2]);
  }

  void add_convolution(cudnnBackendDescriptorType_t type, const ConvolutionAttributes &attributes,
                       const CudnnDescriptor &y) {
    const auto both = [](const Window::Sizes &sizes) {
      return std::vector<int64_t>(sizes.begin(), sizes.end());
    };
    const Window &window = shape_.window;
    CudnnDescriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, preparing);
    convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
        .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{2})
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, both(window.dilation))
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, both(window.strides))
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, both(window.before))
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, both(window.after))
        .finalize();
    CudnnDescriptor operation(type, preparing);
    operation.set(attributes.convolution, convolution)
        .set(attributes.x, tensors_[0])
        .set(attributes.kernel, tensors_[1])
        .set(attributes.y, y)
        .set(attributes.alpha, CUDNN_TYPE_FLOAT, 1.0F)
        .set(attributes.beta, CUDNN_TYPE_FLOAT, 0.0F);
    is_possible_ = is_possible_ && operation.try_finalize();
    operations_.push_back(std::move(operation));
    parts_.push_back(std::move(convolution));
  }

  void add_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor &x, const CudnnDescriptor *b,
                     const CudnnDescriptor &y) {
    CudnnDescriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, preparing);
    pointwise.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .finalize();
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, preparing);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    is_possible_ = is_possible_ && operation.try_finalize();
    operations_.push_back(std::move(operation));
    parts_.push_back(std::move(pointwise));
  }

  std::unique_ptr<ConvolutionPlan> plan() {
    if (!is_possible_) return nullptr;
    std::vector<cudnnBackendDescriptor_t> operations;
    for (const CudnnDescriptor &one : operations_) operations.push_back(one.get());
    CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, preparing);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, context_->convolutions())
        .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             static_cast<int64_t>(operations.size()), operations.data());
    if (!graph.try_finalize()) return nullptr;
    used_.push_back(std::move(graph));
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
      if (auto found = best_of(used_.front(), mode)) return found;
    return nullptr;
  }

  // The first that will do of those that cuDNN finds good, the best first.
  std::unique_ptr<ConvolutionPlan> best_of(const CudnnDescriptor &graph,
                                           cudnnBackendHeurMode_t mode) {
    CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, preparing);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (!heuristic.try_finalize()) return nullptr;
    constexpr int64_t most = 32;
    Descriptors configurations;
    std::vector<cudnnBackendDescriptor_t> handles;
    for (int64_t i = 0; i < most; ++i) {
      configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, preparing);
      handles.push_back(configurations.back().get());
    }
    int64_t count = 0;
    if (cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count,
                                 handles.data()) != CUDNN_STATUS_SUCCESS)
      return nullptr;
    for (int64_t i = 0; i < count; ++i)
      if (is_wanted(handles[static_cast<size_t>(i)], shape_.precision))
        if (auto plan = try_plan(std::move(configurations[static_cast<size_t>(i)]))) return plan;
    return nullptr;
  }

  std::unique_ptr<ConvolutionPlan> try_plan(CudnnDescriptor configuration) {
    CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, preparing);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, context_->convolutions())
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (!plan.try_finalize()) return nullptr;
    int64_t workspace = 0;
    int64_t count = 0;
    if (cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &count, &workspace) != CUDNN_STATUS_SUCCESS ||
        workspace > static_cast<int64_t>(CudaContext::workspace_bytes))
      return nullptr;
    CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, preparing);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids_)
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             static_cast<int64_t>(addresses_.size()), addresses_.data())
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, context_->workspace())
        .finalize();
    used_.push_back(std::move(configuration));
    for (Descriptors *all : {&operations_, &parts_, &inner_, &tensors_})
      std::move(all->begin(), all->end(), std::back_inserter(used_));
    return std::make_unique<GraphPlan>(context_, std::move(plan), std::move(pack),
                                       std::move(used_));
  }

  const CudaContextPtr context_;
  const ConvolutionShape &shape_;
  const ConvolutionArrays &arrays_;
  Descriptors tensors_, inner_, operations_, parts_, used_;
  std::vector<int64_t> ids_;
  std::vector<void *> addresses_;
  bool is_possible_ = true;
};

}  // namespace

std::unique_ptr<ConvolutionPlan> ConvolutionPlan::make(const CudaContextPtr &context,
                                                       ConvolutionPart part,
                                                       const ConvolutionShape &shape,
                                                       const ConvolutionArrays &arrays) {
  return GraphBuilder(context, shape, arrays).build(part);
}

}  // namespace det::nn
