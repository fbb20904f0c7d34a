#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/device_step.h"
#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

namespace {

// Which draw an element goes by: one of its own, or that of its channel in its record.
struct DrawOf {
  size_t record, channels;  // elements of a record; 0 channels: one of its own

  DET_HOST_DEVICE size_t operator()(size_t i) const {
    return channels == 0 ? i : i / record * channels + i % channels;
  }
};

class DropoutKernel : public CudaKernel<DropoutOp> {
 public:
  DropoutKernel(const DropoutOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel(op, operands, context), drawn_(*context) {
    const Shape &shape = input(0).shape();
    const size_t records = std::max<size_t>(static_cast<size_t>(shape.front()), 1);
    draw_of_ = {input(0).size() / records, op.is_spatial ? static_cast<size_t>(shape.back()) : 0};
  }

  void forward() override {
    drawn_.copy(*context_, operands_.state);  // backward() draws the same anew
    leave_out(input(0), output());
  }

  void backward() override { leave_out(output_gradient(), input_gradient(0)); }

  void leave_out(const Array &from, const Array &to) const {
    const float *x = from.data();
    float *y = to.data();
    const StepState *const state = drawn_.get();
    const uint64_t own_seed = op_.seed.value_or(0);
    const bool has_own_seed = op_.seed.has_value();
    const uint64_t stream = operands_.stream;
    const float rate = op_.rate;
    const float scale = op_.scale();
    const DrawOf draw_of = draw_of_;
    for_each(*context_, to.size(), [=] DET_DEVICE(size_t i) {
      DropoutDraws draws(has_own_seed ? own_seed : state->seed, stream, state->step);
      y[i] = draws.is_kept(draw_of(i), rate) ? x[i] * scale : 0;
    });
  }

 private:
  const DeviceStep drawn_;  // of forward()
  DrawOf draw_of_{};
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const DropoutOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<DropoutKernel>(op, operands, context);
}

}  // namespace det::nn
