// The device that stands for a GPU in tests: that it does nothing too early, and fails as told.
#include <cmath>
#include <thread>

#include "tests/cmocka.h"
#include "tests/nn/emulated_cuda/emulated_memory.h"
#include "tests/nn/emulated_cuda/emulated_stream.h"
#include "tests/nn/emulated_cuda/failing.h"
#include "tests/nn/emulated_cuda/managed_numbers.h"

namespace det::test {
namespace {

struct Stream {
  cudaStream_t handle = nullptr;
  Stream() { cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking); }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream() { cudaStreamDestroy(handle); }
};

struct Event {
  cudaEvent_t handle = nullptr;
  Event() { cudaEventCreateWithFlags(&handle, cudaEventDisableTiming); }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  ~Event() { cudaEventDestroy(handle); }
};

void add(const Stream &stream, float *to, float value) {
  emulated::enqueue(stream.handle, [=] { *to += value; });
}

void test_a_read_without_waiting_sees_old_numbers(void **) {
  const Stream stream;
  const ManagedNumbers x({1}), y({2});
  cudaMemcpyAsync(y.data(), x.data(), sizeof(float), cudaMemcpyDefault, stream.handle);
  assert_equal(y[0], 2.0F);
  x[0] = 3;  // too early as well
  assert_equal(cudaStreamSynchronize(stream.handle), cudaSuccess);
  assert_equal(y[0], 3.0F);
}

void test_streams_wait_only_for_events(void **) {
  const Stream first, second;
  const Event event;
  const ManagedNumbers x({0});
  add(first, x.data(), 1);
  cudaEventRecord(event.handle, first.handle);
  add(first, x.data(), 10);
  cudaStreamWaitEvent(second.handle, event.handle, 0);
  add(second, x.data(), 100);
  cudaStreamSynchronize(second.handle);
  assert_equal(x[0], 101.0F);
  cudaEventSynchronize(event.handle);
  assert_equal(x[0], 101.0F);
  cudaDeviceSynchronize();
  assert_equal(x[0], 111.0F);
}

void test_what_is_captured_is_done_when_launched(void **) {
  const Stream stream;
  const ManagedNumbers x({0});
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal);
  add(stream, x.data(), 1);
  cudaMemcpyAsync(&x[0], &x[0], sizeof(float), cudaMemcpyDeviceToDevice, stream.handle);
  assert_equal(cudaStreamEndCapture(stream.handle, &graph), cudaSuccess);
  cudaDeviceSynchronize();
  assert_equal(x[0], 0.0F);
  assert_equal(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  cudaGraphDestroy(graph);
  for (int i = 0; i < 3; ++i) cudaGraphLaunch(executable, stream.handle);
  assert_equal(x[0], 0.0F);
  cudaStreamSynchronize(stream.handle);
  assert_equal(x[0], 3.0F);
  cudaGraphExecDestroy(executable);
}

// Forks into another stream, and joins it again if told to.
cudaError_t capture_fork(const ManagedNumbers &x, bool join) {
  const Stream stream, other;
  const Event forked, joined;
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal);
  cudaEventRecord(forked.handle, stream.handle);
  cudaStreamWaitEvent(other.handle, forked.handle, 0);
  add(other, x.data(), 1);
  cudaEventRecord(joined.handle, other.handle);
  if (join) cudaStreamWaitEvent(stream.handle, joined.handle, 0);
  const cudaError_t error = cudaStreamEndCapture(stream.handle, &graph);
  cudaStreamSynchronize(other.handle);
  cudaGraphDestroy(graph);
  return error;
}

void test_a_capture_includes_streams_that_wait_for_it(void **) {
  const ManagedNumbers x({0});
  assert_equal(capture_fork(x, true), cudaSuccess);
  assert_equal(capture_fork(x, false), cudaErrorStreamCaptureUnjoined);
  assert_equal(x[0], 0.0F);
}

void test_captures_are_ended_by_waiting_and_by_allocating(void **) {
  const Stream stream;
  cudaGraph_t graph;
  void *memory = nullptr;
  cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal);
  assert_equal(cudaStreamSynchronize(stream.handle), cudaErrorStreamCaptureUnsupported);
  assert_equal(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
  cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal);
  assert_equal(cudaMalloc(&memory, 4), cudaErrorStreamCaptureUnsupported);
  assert_equal(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
  cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeRelaxed);
  assert_equal(cudaMalloc(&memory, 4), cudaSuccess);
  assert_equal(cudaStreamEndCapture(stream.handle, &graph), cudaSuccess);
  cudaGraphDestroy(graph);
  cudaFree(memory);
  cudaGetLastError();
}

void test_a_capture_may_leave_other_threads_alone(void **) {
  const auto allocate = [] {
    void *memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, 4);
    if (status == cudaSuccess) cudaFree(memory);
    cudaGetLastError();
    return status;
  };
  const auto elsewhere = [&] {
    cudaError_t status{};
    std::thread([&] { status = allocate(); }).join();
    return status;
  };
  const Stream stream;
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal);
  assert_equal(elsewhere(), cudaSuccess);
  assert_equal(cudaStreamEndCapture(stream.handle, &graph), cudaSuccess);
  cudaGraphDestroy(graph);
  cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal);
  assert_equal(allocate(), cudaErrorStreamCaptureUnsupported);
  assert_equal(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
  cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeGlobal);
  assert_equal(elsewhere(), cudaErrorStreamCaptureUnsupported);
  assert_equal(cudaStreamEndCapture(stream.handle, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
}

void test_memory_is_no_number_and_has_an_owner(void **) {
  void *device, *pinned;
  float number = 0;
  cudaMalloc(&device, 8);
  cudaHostAlloc(&pinned, 8, cudaHostAllocDefault);
  assert_true(std::isnan(static_cast<float *>(device)[1]));
  assert_true(emulated::place_of(static_cast<char *>(device) + 7) == emulated::Place::device);
  assert_true(emulated::place_of(static_cast<char *>(device) + 8) != emulated::Place::device);
  assert_true(emulated::place_of(pinned) == emulated::Place::pinned);
  assert_true(emulated::place_of(&number) == emulated::Place::other);
  assert_equal(cudaMemcpyAsync(device, &number, 12, cudaMemcpyHostToDevice, nullptr),
               cudaErrorInvalidValue);
  assert_equal(cudaMemcpyAsync(device, &number, 4, cudaMemcpyDeviceToHost, nullptr),
               cudaErrorInvalidValue);
  assert_equal(cudaFreeHost(device), cudaErrorInvalidValue);
  assert_equal(cudaFree(&number), cudaErrorInvalidValue);
  assert_equal(cudaGetLastError(), cudaErrorInvalidValue);
  assert_equal(cudaGetLastError(), cudaSuccess);
  cudaFree(device);
  cudaFreeHost(pinned);
}

void test_there_may_be_no_device(void **) {
  int count = -1, version = -1;
  {
    const Failing failing("no_driver");
    assert_equal(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    cudaDriverGetVersion(&version);
    assert_equal(version, 0);
  }
  {
    const Failing failing("old_driver");
    assert_equal(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    cudaDriverGetVersion(&version);
    assert_true(version > 0 && version < CUDART_VERSION);
  }
  {
    const Failing failing("no_device");
    assert_equal(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    assert_equal(count, 0);
  }
  assert_equal(cudaGetDeviceCount(&count), cudaSuccess);
  assert_equal(count, 1);
}

void test_memory_may_run_out(void **) {
  const Failing failing("memory=1000");
  void *first = nullptr, *second = nullptr;
  size_t left = 0, all = 0;
  assert_equal(cudaMalloc(&first, 600), cudaSuccess);
  assert_equal(cudaMalloc(&second, 401), cudaErrorMemoryAllocation);
  cudaMemGetInfo(&left, &all);
  assert_equal(left, size_t{400});
  assert_equal(all, size_t{1000});
  assert_equal(cudaMallocAsync(&second, 400, nullptr), cudaSuccess);
  cudaFree(first);
  cudaFreeAsync(second, nullptr);
  cudaDeviceSynchronize();
  cudaMemGetInfo(&left, &all);
  assert_equal(left, size_t{1000});
}

void test_a_device_that_failed_does_nothing_more(void **) {
  const ManagedNumbers x({0});
  {
    const Failing failing("work=2");
    const Stream stream;
    for (int i = 0; i < 3; ++i) add(stream, x.data(), 1);
    assert_equal(cudaGetLastError(), cudaSuccess);
    assert_equal(cudaStreamSynchronize(stream.handle), cudaErrorIllegalAddress);
    assert_equal(x[0], 1.0F);
    void *memory = nullptr;
    assert_equal(cudaMalloc(&memory, 4), cudaErrorIllegalAddress);
    assert_equal(cudaGetLastError(), cudaErrorIllegalAddress);
    assert_equal(cudaGetLastError(), cudaErrorIllegalAddress);
    add(stream, x.data(), 1);
    assert_equal(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  }
  assert_equal(cudaDeviceSynchronize(), cudaSuccess);
  assert_equal(x[0], 1.0F);
}

}  // namespace
}  // namespace det::test

int test_emulated_cuda() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_a_read_without_waiting_sees_old_numbers),
      cmocka_unit_test(test_streams_wait_only_for_events),
      cmocka_unit_test(test_what_is_captured_is_done_when_launched),
      cmocka_unit_test(test_a_capture_includes_streams_that_wait_for_it),
      cmocka_unit_test(test_captures_are_ended_by_waiting_and_by_allocating),
      cmocka_unit_test(test_a_capture_may_leave_other_threads_alone),
      cmocka_unit_test(test_memory_is_no_number_and_has_an_owner),
      cmocka_unit_test(test_there_may_be_no_device),
      cmocka_unit_test(test_memory_may_run_out),
      cmocka_unit_test(test_a_device_that_failed_does_nothing_more),
  };
  return cmocka_run_group_tests_name("emulated_cuda", tests, nullptr, nullptr);
}
