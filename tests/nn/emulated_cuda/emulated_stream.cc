#include "tests/nn/emulated_cuda/emulated_stream.h"

#include <algorithm>

#include "tests/nn/emulated_cuda/emulated_counts.h"
#include "tests/nn/emulated_cuda/emulated_device.h"
#include "tests/nn/emulated_cuda/emulated_queue.h"

namespace emulated {

namespace {

std::vector<std::shared_ptr<Queue>> &queues() {
  // The first is the default stream.
  static auto &all = *new std::vector<std::shared_ptr<Queue>>{std::make_shared<Queue>()};
  return all;
}

void give(Queue &queue, Work work) {
  if (queue.capture != nullptr) {
    queue.capture->graph->work.push_back(std::move(work));
    queue.captured = queue.capture->graph->work.size();
    return;
  }
  queue.waiting.push_back(std::move(work));
  ++queue.given;
}

bool forbids_calls(const Capture &capture) {
  return capture.mode == cudaStreamCaptureModeGlobal ||
         (capture.mode == cudaStreamCaptureModeThreadLocal &&
          capture.thread == std::this_thread::get_id());
}

// Nobody can wait for work that is only recorded.
cudaError_t wait_for(Queue &queue, uint64_t count) {
  if (queue.capture != nullptr) {
    queue.capture->valid = false;
    return noted(cudaErrorStreamCaptureUnsupported);
  }
  ++counts().waits;
  run_until(queue, count);
  return device_error();
}

}  // namespace

std::shared_ptr<Queue> queue_of(cudaStream_t stream) {
  return stream != nullptr ? stream->queue : queues().front();
}

void run_until(Queue &queue, uint64_t count) {
  while (queue.done < count) {
    const Work work = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    perform(work);
    ++queue.done;
  }
}

void run_all() {
  for (const auto &queue : queues()) run_until(*queue, queue->given);
}

cudaError_t enqueue(cudaStream_t stream, Work work) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  Queue &queue = *queue_of(stream);
  if (queue.capture != nullptr && failure().capture) {
    queue.capture->valid = false;
    return noted(cudaErrorStreamCaptureUnsupported);
  }
  give(queue, std::move(work));
  return cudaSuccess;
}

cudaError_t refused_while_capturing() {
  for (const auto &queue : queues())
    if (queue->capture != nullptr && forbids_calls(*queue->capture)) {
      queue->capture->valid = false;
      return noted(cudaErrorStreamCaptureUnsupported);
    }
  return cudaSuccess;
}

}  // namespace emulated

using namespace emulated;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  queues().push_back(std::make_shared<Queue>());
  *stream = new CUstream_st{queues().back()};
  return cudaSuccess;
}

// What it was given is done nevertheless.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const auto lock = locked();
  if (stream == nullptr) return noted(cudaErrorInvalidResourceHandle);
  end_capture(*stream->queue);
  run_until(*stream->queue, stream->queue->given);
  std::erase(queues(), stream->queue);
  delete stream;
  return device_error();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const auto lock = locked();
  const auto queue = queue_of(stream);
  return wait_for(*queue, queue->given);
}

cudaError_t cudaDeviceSynchronize() {
  const auto lock = locked();
  if (const cudaError_t error = refused_while_capturing(); error != cudaSuccess) return error;
  ++counts().waits;
  run_all();
  return device_error();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  const auto queue = queue_of(stream);
  const auto &capture = queue->capture;
  *event = {queue, capture != nullptr ? capture->graph->work.size() : queue->given, capture};
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const auto lock = locked();
  if (event->capture != nullptr) return noted(cudaErrorCapturedEvent);
  if (event->queue == nullptr) return device_error();
  ++counts().waits;
  run_until(*event->queue, event->count);
  return device_error();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  const auto lock = locked();
  if (const cudaError_t error = device_error(); error != cudaSuccess) return error;
  const auto waiting = queue_of(stream);
  const auto awaited = event->queue;
  if (awaited == nullptr) return cudaSuccess;
  if (event->capture != nullptr) return wait_in_capture(waiting, *event);
  if (waiting->capture != nullptr) {
    waiting->capture->valid = false;
    return noted(cudaErrorStreamCaptureIsolation);
  }
  give(*waiting, [awaited, count = event->count] { run_until(*awaited, count); });
  return cudaSuccess;
}
