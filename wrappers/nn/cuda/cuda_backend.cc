// The back end 'cuda', and the one symbol of its library.
#include <cstring>
#include <new>

#include "core/base/error.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/cuda_plugin.h"

namespace det::nn {

namespace {

// What a stream is given until the end, which comes in any case.
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
               "recording a step for the GPU");
  }
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;
  ~Capture() {
    if (cudaGraph_t graph = is_open_ ? end() : nullptr) cudaGraphDestroy(graph);
  }

  // Null where something cannot be in a graph.
  cudaGraph_t end() {
    is_open_ = false;
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess) return graph;
    // Nobody else is to take the error for his own.
    cudaGetLastError();
    return nullptr;
  }

 private:
  const cudaStream_t stream_;
  bool is_open_ = true;
};

// The work of a step as a CUDA graph. Gives the work once as it is, so that libraries prepare what
// they need; records it the next time, and replays it from then on.
class CudaRecording : public Recording {
 public:
  explicit CudaRecording(CudaContextPtr context) : context_(std::move(context)) {}
  CudaRecording(const CudaRecording &) = delete;
  CudaRecording &operator=(const CudaRecording &) = delete;
  ~CudaRecording() override {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }

  void run(const std::function<void()> &work) override {
    context_->use();
    if (graph_ == nullptr && is_warm_ && can_be_recorded_) can_be_recorded_ = record(work);
    if (graph_ != nullptr) {
      check_cuda(cudaGraphLaunch(graph_, context_->stream()), "giving a step to the GPU");
      return;
    }
    work();
    context_->join_copies();
    is_warm_ = true;
  }

 private:
  // Says whether that could be: a library may have chosen a way that cannot be recorded. What is
  // wrong with the work itself is told when it is given as it is.
  bool record(const std::function<void()> &work) {
    // What was copied before is no part of it.
    context_->join_copies();
    Capture capture(context_->stream());
    try {
      work();
      context_->join_copies();
    } catch (const Error &) {
      return false;
    }
    cudaGraph_t graph = capture.end();
    if (graph == nullptr) return false;
    if (cudaGraphInstantiate(&graph_, graph, 0) != cudaSuccess) graph_ = nullptr;
    cudaGraphDestroy(graph);
    cudaGetLastError();
    return graph_ != nullptr;
  }

  const CudaContextPtr context_;
  cudaGraphExec_t graph_ = nullptr;
  bool is_warm_ = false;  // libraries have prepared what they need
  bool can_be_recorded_ = true;
};

class CudaBackend : public Backend {
 public:
  CudaBackend()
      : context_(std::make_shared<CudaContext>()),
        arithmetic_(make_cuda_weight_arithmetic(context_)) {}

  const char *name() const override { return "cuda"; }

  std::unique_ptr<Kernel> make(const Operation &operation, const Operands &operands) override {
    context_->use();
    return std::visit([&](const auto &op) { return cuda_kernel(op, operands, context_); },
                      operation);
  }

  bool reaches_process() const override { return false; }

  // Those that matrix units are given.
  bool rounds_input(const Operation &operation, size_t input) const override {
    const bool multiplies = std::holds_alternative<DenseOp>(operation) ||
                            std::holds_alternative<BatchedMatMulOp>(operation);
    return multiplies && input < 2;
  }

  // Those that end in a loop of ours over their result.
  bool joins_rounding(const Operation &operation) const override {
    if (const auto *dense = std::get_if<DenseOp>(&operation))
      return dense->activation != Activation::linear && dense->activation != Activation::relu;
    return std::holds_alternative<ActivationOp>(operation) ||
           std::holds_alternative<ArithmeticOp>(operation) ||
           std::holds_alternative<LayerNormalizationOp>(operation) ||
           std::holds_alternative<ReluOp>(operation) ||
           std::holds_alternative<ScaleOp>(operation) ||
           std::holds_alternative<SoftmaxOp>(operation);
  }

  std::shared_ptr<std::byte> allocate(size_t bytes) override {
    context_->use();
    std::shared_ptr<std::byte> memory = context_->device_memory().allocate(bytes);
    check_cuda(cudaMemsetAsync(memory.get(), 0, bytes, context_->stream()), "clearing an array");
    // The process may write into it at once.
    context_->synchronize();
    return memory;
  }

  void synchronize() override {
    context_->use();
    context_->synchronize();
  }

  Array make_exchanged(const Array &array) override {
    context_->use();
    const size_t bytes = std::max<size_t>(array.bytes(), 1);
    std::shared_ptr<std::byte> memory = context_->process_memory().allocate(bytes);
    std::memset(memory.get(), 0, bytes);
    return Array(array.type(), std::move(memory));
  }

  void copy(const Array &from, const Array &to) override {
    context_->use();
    context_->copy(from.raw(), to.raw(), to.bytes());
  }

  std::shared_ptr<StepState> make_step_state(uint64_t seed) override {
    context_->use();
    const auto memory = context_->process_memory().allocate(sizeof(StepState));
    return {memory, new (memory.get()) StepState{seed, 0}};
  }

  std::unique_ptr<Recording> make_recording() override {
    return std::make_unique<CudaRecording>(context_);
  }

  WeightArithmetic &arithmetic() override { return *arithmetic_; }

 private:
  const CudaContextPtr context_;
  const std::unique_ptr<WeightArithmetic> arithmetic_;
};

std::shared_ptr<Backend> open() { return std::make_shared<CudaBackend>(); }

}  // namespace

extern "C" __attribute__((visibility("default")))
const CudaPlugin detnn_cuda_plugin{cuda_plugin_build, &open};

}  // namespace det::nn
