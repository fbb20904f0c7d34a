// Capturing what streams are given, and giving it again as a graph.
#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_queue.h"

namespace emulated {

cudaError_t wait_in_capture(const std::shared_ptr<Queue> &waiting, const CUevent_st &event) {
  Queue &awaited = *event.queue;
  if (awaited.capture != event.capture) return noted(cudaErrorCapturedEvent);  // it has ended
  if (waiting->capture == nullptr) {
    waiting->capture = event.capture;
    waiting->captured = waiting->joined = 0;
    event.capture->queues.push_back(waiting);
  } else if (waiting->capture != event.capture) {
    event.capture->valid = waiting->capture->valid = false;
    return noted(cudaErrorStreamCaptureMerge);
  }
  awaited.joined = event.count;
  return cudaSuccess;
}

void end_capture(Queue &queue) {
  if (queue.capture == nullptr) return;
  const auto capture = queue.capture;
  for (const auto &member : capture->queues) member->capture = nullptr;
  capture->queues.clear();
}

}  // namespace emulated

using namespace emulated;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  if (stream == nullptr) return noted(cudaErrorStreamCaptureUnsupported);
  Queue &queue = *stream->queue;
  if (queue.capture != nullptr) return noted(cudaErrorIllegalState);
  queue.capture = std::make_shared<Capture>();
  queue.capture->mode = mode;
  queue.capture->thread = std::this_thread::get_id();
  queue.capture->queues = {stream->queue};
  queue.captured = queue.joined = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  const auto lock = locked();
  *graph = nullptr;
  if (stream == nullptr || stream->queue->capture == nullptr) return noted(cudaErrorIllegalState);
  const auto capture = stream->queue->capture;
  if (capture->queues.front() != stream->queue) return noted(cudaErrorStreamCaptureUnmatched);
  bool joined = true;
  for (size_t i = 1; i < capture->queues.size(); ++i)
    joined = joined && capture->queues[i]->joined >= capture->queues[i]->captured;
  end_capture(*stream->queue);
  if (!capture->valid) return noted(cudaErrorStreamCaptureInvalidated);
  if (!joined) return noted(cudaErrorStreamCaptureUnjoined);
  *graph = new CUgraph_st{capture->graph};
  return device_error();
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status) {
  const auto lock = locked();
  const auto &capture = queue_of(stream)->capture;
  *status = capture == nullptr ? cudaStreamCaptureStatusNone
            : capture->valid   ? cudaStreamCaptureStatusActive
                               : cudaStreamCaptureStatusInvalidated;
  return device_error();
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  if (graph == nullptr) return noted(cudaErrorInvalidValue);
  *executable = new CUgraphExec_st{graph->graph};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  if (executable == nullptr) return noted(cudaErrorInvalidValue);
  for (const Work &work : executable->graph->work) enqueue(stream, work);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
