#include "tests/nn/emulated_cuda/emulated_device.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/nn/emulated_cuda/emulated_counts.h"

namespace emulated {

namespace {

cudaError_t sticky = cudaSuccess;
thread_local cudaError_t last = cudaSuccess;

// A name that is not known would be a test that tests nothing.
[[noreturn]] void stop_at(const std::string &text) {
  std::fprintf(stderr, "EMULATED_CUDA_FAIL=%s is not known\n", text.c_str());
  std::abort();
}

Failure read_failure(const std::string &text) {
  Failure failure;
  if (text.empty()) return failure;
  if (text == "no_driver") {
    failure.driver = cudaErrorInsufficientDriver;
    failure.driver_version = 0;
  } else if (text == "old_driver") {
    failure.driver = cudaErrorInsufficientDriver;
    failure.driver_version = 12020;
  } else if (text == "no_device") {
    failure.driver = cudaErrorNoDevice;
  } else if (text.starts_with("memory=")) {
    failure.memory = std::stoull(text.substr(7));
  } else if (text.starts_with("work=")) {
    failure.work = std::stoull(text.substr(5));
  } else if (text == "capture") {
    failure.capture = true;
  } else if (text == "fused") {
    failure.fused = true;
  } else if (text == "graphs") {
    failure.graphs = true;
  } else {
    stop_at(text);
  }
  return failure;
}

}  // namespace

std::unique_lock<std::recursive_mutex> locked() {
  // As all that is kept here, it is never destroyed: memory may be freed at the very end.
  static auto &mutex = *new std::recursive_mutex;
  return std::unique_lock(mutex);
}

Counts &counts() {
  static Counts all;
  return all;
}

Failure &failure() {
  static auto &read = *new std::string;
  static Failure current;
  const char *const variable = std::getenv("EMULATED_CUDA_FAIL");
  const std::string text = variable != nullptr ? variable : "";
  if (text != read) {
    current = read_failure(text);
    read = text;
    sticky = last = cudaSuccess;
  }
  return current;
}

cudaError_t device_error() {
  const cudaError_t driver = failure().driver;
  return noted(driver != cudaSuccess ? driver : sticky);
}

void perform(const Work &work) {
  Failure &now = failure();
  if (now.work > 0 && --now.work == 0) access_illegal_address();
  if (sticky != cudaSuccess) return;
  work();
  ++counts().work;
}

void access_illegal_address() { sticky = cudaErrorIllegalAddress; }

cudaError_t noted(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}

}  // namespace emulated

using namespace emulated;

cudaError_t cudaPeekAtLastError() {
  const auto lock = locked();
  const cudaError_t device = device_error();
  return device != cudaSuccess ? device : last;
}

cudaError_t cudaGetLastError() {
  const auto lock = locked();
  const cudaError_t error = cudaPeekAtLastError();
  last = cudaSuccess;
  return error;
}
