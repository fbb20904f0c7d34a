#include "wrappers/nn/cuda/cuda_recording.h"

namespace det::nn {

namespace {

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
    if (graph_ == nullptr && !is_warm_) {
      work();
      context_->join_copies();
      is_warm_ = true;
      return;
    }
    if (graph_ == nullptr) record(work);
    check_cuda(cudaGraphLaunch(graph_, context_->stream()), "giving a step to the GPU");
  }

 private:
  void record(const std::function<void()> &work) {
    constexpr std::string_view doing = "recording a step for the GPU";
    cudaStream_t stream = context_->stream();
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), doing);
    cudaGraph_t graph = nullptr;
    try {
      work();
      context_->join_copies();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream, &graph), doing);
    const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, doing);
  }

  const CudaContextPtr context_;
  cudaGraphExec_t graph_ = nullptr;
  bool is_warm_ = false;
};

}  // namespace

std::unique_ptr<Recording> make_cuda_recording(const CudaContextPtr &context) {
  return std::make_unique<CudaRecording>(context);
}

}  // namespace det::nn
