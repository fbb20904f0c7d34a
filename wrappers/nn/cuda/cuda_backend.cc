// The back end 'cuda', and the one symbol of its library.
#include <cstring>
#include <new>

#include "core/base/error.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/cuda_plugin.h"
#include "wrappers/nn/cuda/cuda_recording.h"
#include "wrappers/nn/cuda/cuda_weight_arithmetic.h"

namespace det::nn {

namespace {

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

  std::unique_ptr<Recording> make_recording() override { return make_cuda_recording(context_); }

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
