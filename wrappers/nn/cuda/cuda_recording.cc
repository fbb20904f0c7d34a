#include "wrappers/nn/cuda/cuda_recording.h"

#include "core/base/error.h"

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

}  // namespace

std::unique_ptr<Recording> make_cuda_recording(const CudaContextPtr &context) {
  return std::make_unique<CudaRecording>(context);
}

}  // namespace det::nn
