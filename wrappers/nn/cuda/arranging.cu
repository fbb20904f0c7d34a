// The same elements elsewhere.
#include <vector>

#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/moves.h"

namespace det::nn {

namespace {

bool has_too_many_axes(const Operands &operands) {
  return operands.inputs[0].shape().size() > Places::most_axes;
}

// Each element of y is one of x, and none of x is two of y.
template <class Op>
class GatheringKernel : public CudaKernel<Op> {
 public:
  GatheringKernel(const Op &op, const Operands &operands, const CudaContextPtr &context,
                  const Places &places)
      : CudaKernel<Op>(op, operands, context), places_(places) {}

  void forward() override {
    gather(*this->context_, this->input(0).data(), this->output(), places_);
  }

  void backward() override {
    const Array &dx = this->input_gradient(0);
    if (dx.size() != this->output().size()) clear(*this->context_, dx);
    scatter(*this->context_, this->output_gradient(), dx.data(), places_);
  }

 private:
  const Places places_;
};

class ConcatenateKernel : public CudaKernel<ConcatenateOp> {
 public:
  ConcatenateKernel(const ConcatenateOp &op, const Operands &operands,
                    const CudaContextPtr &context)
      : CudaKernel(op, operands, context) {
    const Shape strides = strides_of(output().shape());
    int64_t begin = 0;
    for (const Array &one : operands.inputs) {
      places_.push_back(make_places(one.shape(), strides, begin * strides[op.axis]));
      begin += one.shape()[op.axis];
    }
  }

  void forward() override {
    for (size_t i = 0; i < inputs(); ++i) scatter(*context_, input(i), output().data(), places_[i]);
  }

  void backward() override {
    for (size_t i = 0; i < inputs(); ++i)
      if (const Array &dx = input_gradient(i))
        gather(*context_, output_gradient().data(), dx, places_[i]);
  }

 private:
  std::vector<Places> places_;
};

// Each element of x is several of y: where `sizes` of its repetitions lie.
class BroadcastKernel : public CudaKernel<BroadcastOp> {
 public:
  BroadcastKernel(const BroadcastOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel(op, operands, context) {
    const Shape &x = input(0).shape();
    const Shape &y = output().shape();
    Shape from = strides_of(x);
    const Shape to = strides_of(y);
    Shape repeated = y;
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i] != y[i]) from[i] = 0;
      else repeated[i] = 1;
    from_ = make_places(y, from);
    firsts_ = make_places(x, to);
    repetitions_ = make_places(repeated, to);
    times_ = static_cast<size_t>(elements_of(repeated));
  }

  void forward() override { gather(*context_, input(0).data(), output(), from_); }

  void backward() override {
    const float *dy = output_gradient().data();
    float *dx = input_gradient(0).data();
    const Places firsts = firsts_;
    const Places repetitions = repetitions_;
    const size_t times = times_;
    for_each_row(
        *context_, input(0).size(), times, [=] DET_DEVICE(const RowGroup &group, size_t i) {
          const size_t first = firsts.of(i);
          const float sum =
              group.sum(times, [&](size_t time) { return dy[first + repetitions.of(time)]; });
          if (group.is_first()) dx[i] = sum;
        });
  }

 private:
  Places from_, firsts_, repetitions_;
  size_t times_ = 1;
};

// What is in both, of x and of y.
class PaddingKernel : public CudaKernel<PaddingOp> {
 public:
  PaddingKernel(const PaddingOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel(op, operands, context) {
    const Shape &x = input(0).shape();
    const Shape &y = output().shape();
    const Shape from = strides_of(x);
    const Shape to = strides_of(y);
    Shape kept = x;
    int64_t first_x = 0;
    int64_t first_y = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t begin = std::max<int64_t>(-op.before[i], 0);
      kept[i] = std::max<int64_t>(std::min(x[i], y[i] - op.before[i]) - begin, 0);
      first_x += begin * from[i];
      first_y += (begin + op.before[i]) * to[i];
    }
    count_ = static_cast<size_t>(elements_of(kept));
    in_x_ = make_places(kept, from, first_x);
    in_y_ = make_places(kept, to, first_y);
  }

  void forward() override { move(input(0), in_x_, output(), in_y_); }
  void backward() override { move(output_gradient(), in_y_, input_gradient(0), in_x_); }

 private:
  void move(const Array &from, const Places &in_from, const Array &to, const Places &in_to) const {
    clear(*context_, to);
    move_places(*context_, count_, from, in_from, to, in_to);
  }
  Places in_x_, in_y_;
  size_t count_ = 0;
};

// Of y, an image (batch, height, width, channels), and how often elements of x are in it.
struct RepeatedSizes {
  size_t width, channels, down, across;
};

class RepeatingKernel : public CudaKernel<RepeatingOp> {
 public:
  using CudaKernel::CudaKernel;

  void forward() override {
    const float *x = input(0).data();
    float *y = output().data();
    const RepeatedSizes sizes = this->sizes();
    for_each(*context_, output().size(), [=] DET_DEVICE(size_t i) {
      const size_t column = i / sizes.channels % sizes.width / sizes.across;
      const size_t row = i / sizes.channels / sizes.width / sizes.down;
      y[i] = x[(row * (sizes.width / sizes.across) + column) * sizes.channels + i % sizes.channels];
    });
  }

  void backward() override {
    const float *dy = output_gradient().data();
    float *dx = input_gradient(0).data();
    const RepeatedSizes sizes = this->sizes();
    const size_t width = sizes.width / sizes.across;
    for_each(*context_, input(0).size(), [=] DET_DEVICE(size_t i) {
      const size_t column = i / sizes.channels % width * sizes.across;
      const size_t row = i / sizes.channels / width * sizes.down;
      float sum = 0;
      for (size_t down = 0; down < sizes.down; ++down)
        for (size_t across = 0; across < sizes.across; ++across)
          sum += dy[((row + down) * sizes.width + column + across) * sizes.channels +
                    i % sizes.channels];
      dx[i] = sum;
    });
  }

 private:
  RepeatedSizes sizes() const {
    return {static_cast<size_t>(output().shape()[2]), static_cast<size_t>(output().shape()[3]),
            static_cast<size_t>(op_.down), static_cast<size_t>(op_.across)};
  }
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const TransposeOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (has_too_many_axes(operands)) return nullptr;
  const Shape strides = strides_of(operands.inputs[0].shape());
  Shape moved;
  for (const size_t axis : op.permutation) moved.push_back(strides[axis]);
  return std::make_unique<GatheringKernel<TransposeOp>>(
      op, operands, context, make_places(operands.outputs[0].shape(), moved));
}

std::unique_ptr<Kernel> cuda_kernel(const SliceOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (has_too_many_axes(operands)) return nullptr;
  const Shape strides = strides_of(operands.inputs[0].shape());
  return std::make_unique<GatheringKernel<SliceOp>>(
      op, operands, context,
      make_places(operands.outputs[0].shape(), strides, op.begin * strides[op.axis]));
}

std::unique_ptr<Kernel> cuda_kernel(const ReverseOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (has_too_many_axes(operands)) return nullptr;
  const Shape &shape = operands.inputs[0].shape();
  Shape strides = strides_of(shape);
  const int64_t last = (shape[op.axis] - 1) * strides[op.axis];
  strides[op.axis] = -strides[op.axis];
  return std::make_unique<GatheringKernel<ReverseOp>>(op, operands, context,
                                                      make_places(shape, strides, last));
}

std::unique_ptr<Kernel> cuda_kernel(const ConcatenateOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (has_too_many_axes(operands)) return nullptr;
  return std::make_unique<ConcatenateKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const BroadcastOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (has_too_many_axes(operands)) return nullptr;
  return std::make_unique<BroadcastKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const PaddingOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (has_too_many_axes(operands)) return nullptr;
  return std::make_unique<PaddingKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const RepeatingOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<RepeatingKernel>(op, operands, context);
}

}  // namespace det::nn
