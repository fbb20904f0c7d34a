#include "wrappers/nn/cuda/cuda_kernels.h"

#include <cstring>
#include <unordered_map>

#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/sums.h"

namespace det::nn {

namespace {

template <class Rule>
void update_all(const CudaContext &context, const Rule &rule, const UpdatedArrays &arrays,
                size_t count) {
  for_each(context, count, [=] DET_DEVICE(size_t i) { update_element(rule, arrays, i); });
}

class CudaWeightArithmetic : public WeightArithmetic {
 public:
  explicit CudaWeightArithmetic(CudaContextPtr context)
      : context_(std::move(context)),
        answer_(context_->process_memory().allocate(sizeof(float))),
        on_device_(context_->device_memory().allocate(sizeof(float))) {}

  void update(const UpdateRule &rule, const Array &weights, const Array &gradients,
              std::span<float *const> slots) override {
    context_->use();
    UpdatedArrays arrays{weights.data(), gradients.data(), {}};
    std::copy(slots.begin(), slots.end(), arrays.slots.begin());
    std::visit([&](const auto &one) { update_all(*context_, one, arrays, weights.size()); }, rule);
  }

  void shorten(const Array &values, double longest) override {
    context_->use();
    float *x = values.data();
    float *number = on_device();
    // A few sizes: of all gradients, or of each weight.
    const auto total = totals_.try_emplace(values.size(), *context_, values.size()).first;
    total->second.run([=] DET_DEVICE(size_t i) { return x[i] * x[i]; }, number);
    // The process need not know the norm, nor wait for it.
    for_each(*context_, 1, [=] DET_DEVICE(size_t) {
      const double norm = sqrt(static_cast<double>(*number));
      *number = norm <= longest ? 1 : static_cast<float>(longest / norm);
    });
    for_each(*context_, values.size(), [=] DET_DEVICE(size_t i) { x[i] *= *number; });
  }

  bool scale_and_check(const Array &values, float by) override {
    context_->use();
    float *x = values.data();
    float *others = on_device();
    check_cuda(cudaMemsetAsync(others, 0, sizeof(float), context_->stream()),
               "clearing a number on the GPU");
    for_each(*context_, values.size(), [=] DET_DEVICE(size_t i) {
      x[i] *= by;
      // Whoever writes writes the same.
      if (!(fabsf(x[i]) < INFINITY)) *others = 1;
    });
    return answer() == 0;
  }

  void limit(const Array &values, float to) override {
    context_->use();
    float *x = values.data();
    for_each(*context_, values.size(), [=] DET_DEVICE(size_t i) {
      const float one = x[i];
      x[i] = one > to ? to : one < -to ? -to : one;
    });
  }

  void decay(const Array &values, float by) override {
    context_->use();
    float *x = values.data();
    for_each(*context_, values.size(), [=] DET_DEVICE(size_t i) { x[i] -= x[i] * by; });
  }

  void follow(const Array &average, const Array &weights, float kept) override {
    context_->use();
    float *mean = average.data();
    const float *now = weights.data();
    const float added = 1 - kept;
    for_each(*context_, average.size(),
             [=] DET_DEVICE(size_t i) { mean[i] = kept * mean[i] + added * now[i]; });
  }

  void copy(const Array &from, const Array &to) override {
    context_->use();
    check_cuda(
        cudaMemcpyAsync(to.raw(), from.raw(), to.bytes(), cudaMemcpyDefault, context_->stream()),
        "copying an array on the GPU");
  }

  void fill(const Array &to, float value) override {
    context_->use();
    float *x = to.data();
    for_each(*context_, to.size(), [=] DET_DEVICE(size_t i) { x[i] = value; });
  }

 private:
  float *on_device() const { return reinterpret_cast<float *>(on_device_.get()); }

  float answer() {
    context_->copy(on_device(), answer_.get(), sizeof(float));
    context_->synchronize();
    float number = 0;
    std::memcpy(&number, answer_.get(), sizeof number);
    return number;
  }

  const CudaContextPtr context_;
  const std::shared_ptr<std::byte> answer_, on_device_;
  std::unordered_map<size_t, Total> totals_;  // by the number of elements
};

}  // namespace

std::unique_ptr<WeightArithmetic> make_cuda_weight_arithmetic(const CudaContextPtr &context) {
  auto arithmetic = std::make_unique<CudaWeightArithmetic>(context);
  // A GPU that there is no code for is found out now.
  const Array number({{1}, Dtype::f32}, context->device_memory().allocate(sizeof(float)));
  arithmetic->fill(number, 0);
  context->synchronize();
  return arithmetic;
}

}  // namespace det::nn
