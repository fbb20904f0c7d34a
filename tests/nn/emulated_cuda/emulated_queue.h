// What is behind a stream, an event and a graph of CUDA.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "tests/nn/emulated_cuda/emulated_stream.h"

namespace emulated {

struct Queue;

// Work that was recorded; in the order in which it was given, which keeps all that events asked
// for.
struct Graph {
  std::vector<Work> work;
};

// From the beginning of a capture to its end.
struct Capture {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;  // that began it
  bool valid = true;
  std::vector<std::shared_ptr<Queue>> queues;  // that which began, then those that waited for it
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
};

struct Queue {
  std::deque<Work> waiting;
  uint64_t given = 0;  // pieces of work, since the beginning
  uint64_t done = 0;
  std::shared_ptr<Capture> capture;
  size_t captured = 0;  // so many pieces has the graph with the last one of this stream,
  size_t joined = 0;    // and with the last one of this stream that another one waits for
};

// Does the first pieces of what the queue was given, as far as they are not done yet.
void run_until(Queue &queue, uint64_t count);

// All streams, to the end.
void run_all();

// Has a stream wait for an event of a capture, which it becomes part of.
cudaError_t wait_in_capture(const std::shared_ptr<Queue> &waiting, const CUevent_st &event);

// Ends the capture that a stream is part of, if any, for all its streams.
void end_capture(Queue &queue);

// What no capture allows on any stream, such as allocating: it makes the capture invalid. One of
// the mode ThreadLocal forbids it to its thread, one that is Relaxed to nobody.
cudaError_t refused_while_capturing();

std::shared_ptr<Queue> queue_of(cudaStream_t stream);

}  // namespace emulated

struct CUstream_st {
  std::shared_ptr<emulated::Queue> queue;
};

struct CUevent_st {
  std::shared_ptr<emulated::Queue> queue;  // null until it is recorded
  uint64_t count = 0;  // it happens when so much is done; in a capture: as much as is in the graph
  std::shared_ptr<emulated::Capture> capture;
};

struct CUgraph_st {
  std::shared_ptr<emulated::Graph> graph;
};

struct CUgraphExec_st {
  std::shared_ptr<emulated::Graph> graph;
};
